"""The tables of the metadata store."""

import sqlite3
from pathlib import Path

from components.dsl.errors import InputError

SCHEMA_VERSION = 6
"""Increase it whenever the tables change. A root with another version is refused."""

TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, pipeline TEXT NOT NULL, state TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    settings TEXT, part_of INTEGER REFERENCES runs, plan TEXT, invocation TEXT UNIQUE);
CREATE TABLE executions (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, node TEXT NOT NULL, component TEXT NOT NULL,
    key TEXT NOT NULL, state TEXT NOT NULL, ended REAL NOT NULL, seconds REAL NOT NULL, message TEXT NOT NULL,
    cpu_seconds REAL, peak_bytes INTEGER);
CREATE INDEX executions_by_key ON executions (key, state);
CREATE INDEX executions_by_node ON executions (node, run);
CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, fingerprint TEXT NOT NULL, path TEXT UNIQUE);
CREATE TABLE events (
    execution INTEGER NOT NULL REFERENCES executions, artifact INTEGER NOT NULL REFERENCES artifacts,
    direction TEXT NOT NULL CHECK (direction IN ('input', 'output')), name TEXT NOT NULL,
    PRIMARY KEY (execution, direction, name)) WITHOUT ROWID;
CREATE INDEX events_by_artifact ON events (artifact, direction);
CREATE TABLE codes (digest TEXT PRIMARY KEY, modules TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE ingredients (key TEXT PRIMARY KEY, code TEXT NOT NULL REFERENCES codes, content TEXT NOT NULL)
    WITHOUT ROWID;
"""


def prepare(connection: sqlite3.Connection, root: Path, *, can_write: bool = True) -> None:
    """Creates the tables of a new database in one transaction, or checks the version of an existing one.

    Args:
        connection: a connection in autocommit mode.
        root: the root of the database, for errors.
        can_write: whether the database is writable.

    Raises:
        InputError: the database has another schema version, or is empty and not writable.
    """
    if not can_write:
        if _is_empty(connection, root):
            raise _wrong_version(0, root)
        return
    # A rollback journal and file locks work for processes on several machines; a write-ahead log needs shared memory.
    # With full synchronization, published artifacts survive a power failure.
    for pragma in ("journal_mode = DELETE", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
    if not _is_empty(connection, root):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Checked again: another process may have created the tables in the meantime.
        if _is_empty(connection, root):
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _is_empty(connection: sqlite3.Connection, root: Path) -> bool:
    """Whether a database has no tables yet; raises InputError for tables of another version."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    is_empty = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    if version != (0 if is_empty else SCHEMA_VERSION):
        raise _wrong_version(version, root)
    return is_empty


def _wrong_version(version: int, root: Path) -> InputError:
    rule = f"root must hold a database of schema version {SCHEMA_VERSION}"
    return InputError(f"{rule}, got version {version} in {root}; use another root, or the release that made it")
