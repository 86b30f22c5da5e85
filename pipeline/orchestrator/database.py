"""A SQLite file that says in one line what is wrong with it, whenever that is found."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from components.dsl.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")

_WAIT_SECONDS = 10
# Of the log and of the memory that readers share.
_LEAST_BYTES = 1 << 16
_ADVICE = "; use another root, or remove this one"


def connect(path: Path) -> sqlite3.Connection:
    """Opens a database, made if it is not there; transactions are the caller's.

    Raises:
        InputError: it is none, or damaged, now or in any later call; it cannot be opened, written to or waited for.
        sqlite3.OperationalError: the disk is full, now or in any later call.
    """
    connection = _told(path, _Connection)(path, timeout=_WAIT_SECONDS, isolation_level=None)
    connection.path = path
    try:
        # Pages, their order, and that columns hold what they are declared to: else damage shows in the middle of a run.
        for (found,) in connection.execute("PRAGMA quick_check").fetchall():
            # SQLite up to 3.40 says so of any table without row ids whose key is not in the order of its columns.
            if found != "ok" and not found.startswith("NULL value in events."):
                raise InputError(_refusal(path, f"{found}{_ADVICE}"))
    except BaseException:
        connection.close()
        raise
    return connection


class _Cursor(sqlite3.Cursor):
    """Damage shows in a statement, or in the rows that it gives."""

    def execute(self, *arguments: Any) -> "_Cursor":
        return _told(self._path, super().execute)(*arguments)

    def executemany(self, *arguments: Any) -> "_Cursor":
        return _told(self._path, super().executemany)(*arguments)

    def fetchone(self) -> Any:
        return _told(self._path, super().fetchone)()

    def fetchall(self) -> list[Any]:
        return _told(self._path, super().fetchall)()

    def __next__(self) -> Any:
        return _told(self._path, super().__next__)()

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


def _told(path: Path, call: Callable[P, T]) -> Callable[P, T]:
    """The call, with errors that say which file it was."""

    def checked(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return call(*arguments, **options)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # the caller's own mistakes
        except sqlite3.DatabaseError as error:
            if _is_full(error, path):
                raise sqlite3.OperationalError("database or disk is full") from error
            broken = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            raise InputError(_refusal(path, f"{error}{_ADVICE if broken else ''}")) from error
        except UnicodeDecodeError as error:
            raise InputError(_refusal(path, str(error))) from error

    return checked


def _is_full(error: sqlite3.DatabaseError, path: Path) -> bool:
    """Whether there is no space left; of the memory that readers share SQLite says so as of any other mishap."""
    code = getattr(error, "sqlite_errorcode", 0)
    mishap = code & 0xFF == sqlite3.SQLITE_IOERR
    return code == sqlite3.SQLITE_FULL or (mishap and shutil.disk_usage(path.parent).free < _LEAST_BYTES)


def _refusal(path: Path, found: str) -> str:
    return f"root must hold a database that can be used, got {path}: {' '.join(found.split())}"
