-- Conversations and runs. Ids are UUIDs; times are ISO-8601 UTC with milliseconds and sort as text.
-- The states and kinds repeat sophos/run.py; tests/integration/test_storage_schema.py keeps them in step.

CREATE TABLE conversations (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (length(id) = 36),
    title         TEXT    NOT NULL,
    created_at    TEXT    NOT NULL,
    updated_at    TEXT    NOT NULL,
    message_count INTEGER NOT NULL CHECK (message_count >= 0),
    deleted_at    TEXT    -- set: hidden, its runs are gone, its checkpoints may still be there
) STRICT;

CREATE INDEX conversations_newest ON conversations (updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX conversations_deleted ON conversations (id) WHERE deleted_at IS NOT NULL;

CREATE TABLE runs (
    sequence            INTEGER NOT NULL PRIMARY KEY, -- the order of runs; clocks may go backwards
    id                  TEXT    NOT NULL UNIQUE CHECK (length(id) = 36),
    conversation_id     TEXT    NOT NULL REFERENCES conversations (id),
    kind                TEXT    NOT NULL CHECK (kind IN ('message', 'resume', 'decision')),
    input               TEXT    CHECK (kind <> 'message' OR input IS NOT NULL),
    resume_of           TEXT,
    status              TEXT    NOT NULL CHECK (status IN (
        'running', 'waiting', 'completed', 'failed', 'cancelled', 'interrupted'
    )),
    error_code          TEXT,
    error_message       TEXT,
    cancel_requested_at TEXT,
    idempotency_key     TEXT    UNIQUE,
    idempotency_body    TEXT,   -- SHA-256 of the body that came with the key
    owner               TEXT    NOT NULL,
    attempt             INTEGER NOT NULL,
    started_at          TEXT    NOT NULL,
    finished_at         TEXT,
    CHECK ((finished_at IS NULL) = (status IN ('running', 'waiting'))),
    CHECK ((idempotency_key IS NULL) = (idempotency_body IS NULL))
) STRICT;

CREATE INDEX runs_of_conversation ON runs (conversation_id, sequence);

-- At most one active run per conversation. Also the way to the few active ones among many.
CREATE UNIQUE INDEX runs_active ON runs (conversation_id) WHERE status IN ('running', 'waiting');
