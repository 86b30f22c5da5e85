"""The tables of the store, and how those of an earlier release become these."""

import sqlite3
from pathlib import Path

from components.dsl.errors import InputError

# Each brings a database from the version before to its own number; the first makes it. What stands here once was
# released: it is never edited.
MIGRATIONS = (
    """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, pipeline TEXT NOT NULL, state TEXT NOT NULL, started REAL NOT NULL, ended REAL);
CREATE TABLE executions (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, node TEXT NOT NULL, component TEXT NOT NULL,
    key TEXT NOT NULL, state TEXT NOT NULL, ended REAL NOT NULL, seconds REAL NOT NULL, message TEXT NOT NULL);
CREATE INDEX executions_by_key ON executions (key, state);
CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, fingerprint TEXT NOT NULL, path TEXT UNIQUE);
CREATE TABLE events (
    execution INTEGER NOT NULL REFERENCES executions, artifact INTEGER NOT NULL REFERENCES artifacts,
    direction TEXT NOT NULL CHECK (direction IN ('input', 'output')), name TEXT NOT NULL,
    PRIMARY KEY (execution, direction, name)) WITHOUT ROWID;
CREATE INDEX events_by_artifact ON events (artifact, direction);
""",
    """
ALTER TABLE runs ADD COLUMN settings TEXT;
ALTER TABLE executions ADD COLUMN cpu_seconds REAL;
ALTER TABLE executions ADD COLUMN peak_bytes INTEGER;
CREATE INDEX executions_by_node ON executions (node, run);
CREATE TABLE codes (digest TEXT PRIMARY KEY, modules TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE ingredients (key TEXT PRIMARY KEY, code TEXT NOT NULL REFERENCES codes, content TEXT NOT NULL)
    WITHOUT ROWID;
""",
)
SCHEMA_VERSION = len(MIGRATIONS)


def prepare(connection: sqlite3.Connection, root: Path) -> None:
    """Makes the tables of a new database, or brings those of an earlier release up to date, all or nothing.

    Args:
        connection: in autocommit mode.
        root: what it belongs to, for errors.

    Raises:
        InputError: a later release wrote it.
    """
    # WAL with full synchronization: `status` reads while a run writes, and what is published outlives a power cut.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
    if _version(connection, root) == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again: another process may have done it since.
        for number in range(_version(connection, root), SCHEMA_VERSION):
            for statement in MIGRATIONS[number].split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, root: Path) -> int:
    """The number of migrations that a database has seen."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    is_empty = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    if is_empty != (version == 0) or version > SCHEMA_VERSION:
        raise InputError(
            f"root must hold a database of schema version {SCHEMA_VERSION} or an earlier one, got version {version} in "
            f"{root}; use another root, or the release that made it"
        )
    return version
