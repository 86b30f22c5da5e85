"""SQLite connections whose errors name the file and the cause in one line."""

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
            if _is_full(error, path):
                raise sqlite3.OperationalError("database or disk is full") from error
            corrupted = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            raise InputError(_refusal(path, f"{error}{_ADVICE if corrupted else ''}")) from error
        except UnicodeDecodeError as error:
            raise InputError(_refusal(path, str(error))) from error

    return checked


def _is_full(error: sqlite3.DatabaseError, path: Path) -> bool:
    """Whether the disk is full; for some of its files SQLite reports that as a general I/O error."""
    code = getattr(error, "sqlite_errorcode", 0)
    is_io_error = code & 0xFF == sqlite3.SQLITE_IOERR
    return code == sqlite3.SQLITE_FULL or (is_io_error and shutil.disk_usage(path.parent).free < _LEAST_BYTES)


def _refusal(path: Path, problem: str) -> str:
    return f"root must hold a database that can be used, got {path}: {' '.join(problem.split())}"
