-- A claimed run makes its conversation uncounted, and the message count that it ends with makes it
-- counted again. What a process leaves uncounted when it dies, the next start counts.

ALTER TABLE conversations ADD COLUMN counted INTEGER NOT NULL DEFAULT 1 CHECK (counted IN (0, 1));

CREATE INDEX conversations_uncounted ON conversations (id)
    WHERE counted = 0 AND deleted_at IS NULL;
