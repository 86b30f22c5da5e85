"""What happened under a root: runs, executions, artifacts and which execution read or made which, in SQLite.

Every operation is one transaction. Paths are kept relative to the root, so that a root can be moved.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from components.dsl.errors import InputError
from pipeline.orchestrator.database import connect

SCHEMA_VERSION = 1
DATABASE = "metadata.sqlite"

RunState = Literal["running", "done", "refused", "failed", "interrupted"]
ExecutionState = Literal["ran", "cached", "refused", "failed"]

_SCHEMA = """
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
"""


class StoredArtifact(NamedTuple):
    """A published artifact; `path` is relative to the root, None once another one took its place."""

    id: int
    type: str
    fingerprint: str
    path: str | None


class NewArtifact(NamedTuple):
    """An artifact about to be published."""

    type: str
    fingerprint: str
    path: str


class Run(NamedTuple):
    """One run of a pipeline, times in seconds since the epoch; `ended` is None while it runs."""

    id: int
    pipeline: str
    state: RunState
    started: float
    ended: float | None


class Execution(NamedTuple):
    """What became of one node in one run.

    Attributes:
        state: `ran` made new artifacts; `cached` found those of an earlier execution with the same key.
        seconds: how long it took.
        message: why it was refused or failed, else empty.
    """

    run: int
    node: str
    component: str
    key: str
    state: ExecutionState
    seconds: float
    message: str = ""


class Published(NamedTuple):
    """An artifact as `status` shows it: which node made it in which run, and when."""

    node: str
    name: str
    run: int
    ended: float
    artifact: StoredArtifact


class Store:
    """The metadata of one root.

    Args:
        root: the folder; it must exist.
        create: whether to begin a new database where there is none.

    Raises:
        InputError: the root holds none (and `create` is false), one of another version, or a file that is none.
    """

    def __init__(self, root: Path, *, create: bool = True) -> None:
        path = root / DATABASE
        if not create and not path.is_file():
            raise InputError(f"root must be a folder that a run has written to, got {root}: it has no {DATABASE}")
        with contextlib.ExitStack() as stack:
            self._connection = connect(path)
            stack.callback(self.close)
            self._prepare(root)
            stack.pop_all()

    def close(self) -> None:
        """Closes the database; the store is of no use afterwards."""
        self._connection.close()

    def start_run(self, pipeline: str) -> int:
        """Begins a run and returns its id; runs that never ended (killed) become `interrupted`.

        Only for the holder of the root's lock: to anyone else, an unended run may be alive.
        """
        with self._transaction():
            self._connection.execute("UPDATE runs SET state = 'interrupted' WHERE state = 'running'")
            cursor = self._connection.execute(
                "INSERT INTO runs (pipeline, state, started) VALUES (?, 'running', ?)", (pipeline, time.time())
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def finish_run(self, run: int, state: RunState) -> None:
        """Ends a run."""
        with self._transaction():
            self._connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", (state, time.time(), run))

    def find(self, key: str) -> dict[str, StoredArtifact] | None:
        """The outputs, by name, of the newest execution that ran under this key; None if there is none."""
        newest = self._connection.execute(
            "SELECT max(id) FROM executions WHERE key = ? AND state = 'ran'", (key,)
        ).fetchone()[0]
        if newest is None:
            return None
        rows = self._connection.execute(
            "SELECT e.name, a.id, a.type, a.fingerprint, a.path FROM events e JOIN artifacts a ON a.id = e.artifact "
            "WHERE e.execution = ? AND e.direction = 'output' ORDER BY e.name",
            (newest,),
        )
        return {name: StoredArtifact(*artifact) for name, *artifact in rows}

    def publish(
        self, execution: Execution, inputs: Mapping[str, StoredArtifact], outputs: Mapping[str, NewArtifact]
    ) -> dict[str, StoredArtifact]:
        """Records an execution that ran, with its new artifacts, all or nothing.

        An older artifact at the same path has been replaced on disk: its row stays, for the lineage, without a path.
        """
        with self._transaction():
            stored = {}
            for name, new in outputs.items():
                self._connection.execute("UPDATE artifacts SET path = NULL WHERE path = ?", (new.path,))
                cursor = self._connection.execute(
                    "INSERT INTO artifacts (type, fingerprint, path) VALUES (?, ?, ?)", new
                )
                assert cursor.lastrowid is not None
                stored[name] = StoredArtifact(cursor.lastrowid, *new)
            self._insert(execution, inputs, stored)
        return stored

    def record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact] | None = None,
    ) -> None:
        """Records an execution that made nothing new: cached (with the outputs it found), refused or failed."""
        with self._transaction():
            self._insert(execution, inputs, outputs or {})

    def published(self, artifact_type: str, besides: str, run: int) -> Iterator[StoredArtifact]:
        """Artifacts of a type that runs of the same pipeline as `run` made, newest first.

        Those whose execution took an input with the fingerprint `besides` are left out.
        """
        rows = self._connection.execute(
            "SELECT a.id, a.type, a.fingerprint, a.path FROM artifacts a "
            "JOIN events made ON made.artifact = a.id AND made.direction = 'output' "
            "JOIN executions x ON x.id = made.execution AND x.state = 'ran' "
            "JOIN runs r ON r.id = x.run "
            "WHERE r.pipeline = (SELECT pipeline FROM runs WHERE id = ?) "
            "AND a.type = ? AND a.path IS NOT NULL AND NOT EXISTS ("
            "  SELECT 1 FROM events took JOIN artifacts i ON i.id = took.artifact "
            "  WHERE took.execution = x.id AND took.direction = 'input' AND i.fingerprint = ?) "
            "ORDER BY x.id DESC, made.name",
            (run, artifact_type, besides),
        )
        return (StoredArtifact(*row) for row in rows.fetchall())

    def last_seconds(self, component: str) -> float | None:
        """How long the newest execution of a component took; None if it never ran."""
        row = self._connection.execute(
            "SELECT seconds FROM executions WHERE component = ? AND state = 'ran' ORDER BY id DESC LIMIT 1",
            (component,),
        ).fetchone()
        return None if row is None else float(row[0])

    def seconds_of(self, key: str) -> float:
        """How long the newest execution took that ran under a key.

        Raises:
            KeyError: there is none.
        """
        row = self._connection.execute(
            "SELECT seconds FROM executions WHERE key = ? AND state = 'ran' ORDER BY id DESC LIMIT 1", (key,)
        ).fetchone()
        if row is None:
            raise KeyError(key)
        return float(row[0])

    def paths(self) -> set[str]:
        """The paths of all published artifacts, relative to the root."""
        return {path for (path,) in self._connection.execute("SELECT path FROM artifacts WHERE path IS NOT NULL")}

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        rows = self._connection.execute("SELECT id, pipeline, state, started, ended FROM runs ORDER BY id DESC")
        return [Run(*row) for row in rows]

    def executions(self, run: int) -> list[Execution]:
        """What a run did, in order."""
        rows = self._connection.execute(
            "SELECT run, node, component, key, state, seconds, message FROM executions WHERE run = ? ORDER BY id",
            (run,),
        )
        return [Execution(*row) for row in rows]

    def artifacts(self) -> list[Published]:
        """All artifacts that are still on disk, newest first."""
        rows = self._connection.execute(
            "SELECT x.node, e.name, x.run, x.ended, a.id, a.type, a.fingerprint, a.path FROM artifacts a "
            "JOIN events e ON e.artifact = a.id AND e.direction = 'output' "
            "JOIN executions x ON x.id = e.execution AND x.state = 'ran' "
            "WHERE a.path IS NOT NULL ORDER BY a.id DESC"
        )
        return [
            Published(node, name, run, ended, StoredArtifact(*artifact)) for node, name, run, ended, *artifact in rows
        ]

    def _insert(
        self, execution: Execution, inputs: Mapping[str, StoredArtifact], outputs: Mapping[str, StoredArtifact]
    ) -> None:
        cursor = self._connection.execute(
            "INSERT INTO executions (run, node, component, key, state, seconds, message, ended) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*execution, time.time()),
        )
        events = [("input", name, artifact.id) for name, artifact in inputs.items()]
        events += [("output", name, artifact.id) for name, artifact in outputs.items()]
        self._connection.executemany(
            "INSERT INTO events (execution, direction, name, artifact) VALUES (?, ?, ?, ?)",
            [(cursor.lastrowid, *event) for event in events],
        )

    def _prepare(self, root: Path) -> None:
        # WAL with full synchronization: `status` reads while a run writes, and what is published outlives a power cut.
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        if self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
            with self._transaction():
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise InputError(
                f"root must hold a database of schema version {SCHEMA_VERSION}, got version {version} in {root}; "
                "use another root, or remove this one"
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
