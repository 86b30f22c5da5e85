"""The database of a root: its tables, and connections whose errors name the file and the cause in one line."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from components.dsl.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")

_WAIT_SECONDS = 10
# Free space that SQLite needs for its journal.
_LEAST_BYTES = 1 << 16
_ADVICE = "; use another root, or remove this one"

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


def can_write(path: Path) -> bool:
    """Whether a database and the journal beside it are writable."""
    return all(os.access(place, os.W_OK) for place in (path, path.parent) if place.exists())


def connect(path: Path) -> sqlite3.Connection:
    """Opens a database, or creates it; the caller manages transactions.

    A database that is not writable is opened read-only.

    Raises:
        InputError: the file is not a database, is corrupted, is locked for too long or cannot be opened. Later calls on
            the connection raise it, too.
        sqlite3.OperationalError: the disk is full. Later calls raise it, too.
    """
    address = f"{path.absolute().as_uri()}?mode={'rwc' if can_write(path) else 'ro'}"
    connection = _with_path_in_errors(path, _Connection)(address, timeout=_WAIT_SECONDS, isolation_level=None, uri=True)
    connection.path = path
    try:
        # Checks pages, their order and the types of columns; otherwise corruption would show in the middle of a run.
        for (problem,) in connection.execute("PRAGMA quick_check").fetchall():
            # SQLite up to 3.40 wrongly reports tables without row ids whose key is not in the order of its columns.
            if problem != "ok" and not problem.startswith("NULL value in events."):
                raise InputError(_refusal(path, f"{problem}{_ADVICE}"))
    except BaseException:
        connection.close()
        raise
    return connection


class _Cursor(sqlite3.Cursor):
    """Corruption can show in a statement or in the rows that it returns."""

    def execute(self, *arguments: Any) -> "_Cursor":
        return _with_path_in_errors(self._path, super().execute)(*arguments)

    def executemany(self, *arguments: Any) -> "_Cursor":
        return _with_path_in_errors(self._path, super().executemany)(*arguments)

    def fetchone(self) -> Any:
        return _with_path_in_errors(self._path, super().fetchone)()

    def fetchall(self) -> list[Any]:
        return _with_path_in_errors(self._path, super().fetchall)()

    def __next__(self) -> Any:
        return _with_path_in_errors(self._path, super().__next__)()

    @property
    def _path(self) -> Path:
        assert isinstance(self.connection, _Connection)
        return self.connection.path


class _Connection(sqlite3.Connection):
    path = Path()

    def execute(self, *arguments: Any) -> _Cursor:
        return self.cursor(_Cursor).execute(*arguments)

    def executemany(self, *arguments: Any) -> _Cursor:
        return self.cursor(_Cursor).executemany(*arguments)


def _with_path_in_errors(path: Path, call: Callable[P, T]) -> Callable[P, T]:
    """Wraps a call so that its errors name the file."""

    def checked(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return call(*arguments, **options)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # programming errors
        except sqlite3.DatabaseError as error:
            # For some of its files SQLite reports a full disk as a general I/O error.
            code = getattr(error, "sqlite_errorcode", 0)
            has_room = code & 0xFF != sqlite3.SQLITE_IOERR or shutil.disk_usage(path.parent).free >= _LEAST_BYTES
            if code == sqlite3.SQLITE_FULL or not has_room:
                raise sqlite3.OperationalError("database or disk is full") from error
            corrupted = code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            raise InputError(_refusal(path, f"{error}{_ADVICE if corrupted else ''}")) from error
        except UnicodeDecodeError as error:
            raise InputError(_refusal(path, str(error))) from error

    return checked


def _refusal(path: Path, problem: str) -> str:
    return f"root must hold a database that can be used, got {path}: {' '.join(problem.split())}"


def prepare(connection: sqlite3.Connection, root: Path, *, is_writable: bool = True) -> None:
    """Creates the tables of a new database in one transaction, or checks the version of an existing one."""
    if not is_writable:
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
        # Checked again, because another process may have created the tables meanwhile.
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
    return InputError(
        f"root must hold a database of schema version {SCHEMA_VERSION}, got version {version} in {root}; use another "
        "root, or the release that made it"
    )
