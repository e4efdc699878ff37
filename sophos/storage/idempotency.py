"""Idempotency keys: the same key with the same body stands for the run it started first."""

from __future__ import annotations

import hashlib
import sqlite3

import aiosqlite

from sophos.errors import IdempotencyKeyReused
from sophos.storage.connection import fetch

BY_KEY = "SELECT * FROM runs WHERE idempotency_key = ?"


def fingerprint(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def same_body(first: sqlite3.Row, body: str) -> sqlite3.Row:
    if first["idempotency_body"] != fingerprint(body):
        raise IdempotencyKeyReused(run=first["id"])
    return first


async def first_by_key(connection: aiosqlite.Connection, key: str | None) -> sqlite3.Row | None:
    if key is None:
        return None
    rows = await fetch(connection, BY_KEY, (key,))
    return rows[0] if rows else None
