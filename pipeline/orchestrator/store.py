"""What happened under a root: runs, executions, artifacts and which execution read or made which, in SQLite.

Every operation is one transaction. Paths are kept relative to the root, so that a root can be moved.
"""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.orchestrator.database import connect
from pipeline.orchestrator.disk import full_disk_told
from pipeline.orchestrator.history import History
from pipeline.orchestrator.records import Execution, Ingredients, NewArtifact, RunState, StoredArtifact
from pipeline.orchestrator.schema import prepare

DATABASE = "metadata.sqlite"


class Store(History):
    """The metadata of one root, to read and to write.

    Args:
        root: the folder; it must exist.
        create: whether to begin a new database where there is none.

    Raises:
        InputError: the root holds none (and `create` is false), one of a later release, or a file that is none; or the
            disk is full, where SQLite keeps notes even to read.
    """

    def __init__(self, root: Path, *, create: bool = True) -> None:
        path = root / DATABASE
        if not create and not path.is_file():
            raise InputError(f"root must be a folder that a run has written to, got {root}: it has no {DATABASE}")
        with full_disk_told(root), contextlib.ExitStack() as stack:
            connection = connect(path)
            stack.callback(connection.close)
            prepare(connection, root)
            stack.pop_all()
        super().__init__(connection)

    def close(self) -> None:
        """Closes the database; the store is of no use afterwards."""
        self._connection.close()

    def start_run(self, pipeline: str, settings: Mapping[str, Any] | None = None) -> int:
        """Begins a run and returns its id; runs that never ended (killed) become `interrupted`.

        Only for the holder of the root's lock: to anyone else, an unended run may be alive.

        Args:
            pipeline: its name.
            settings: JSON values to be found again with the run.
        """
        with self._transaction():
            self._connection.execute("UPDATE runs SET state = 'interrupted' WHERE state = 'running'")
            cursor = self._connection.execute(
                "INSERT INTO runs (pipeline, state, started, settings) VALUES (?, 'running', ?, ?)",
                (pipeline, time.time(), None if settings is None else json.dumps(settings)),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def finish_run(self, run: int, state: RunState) -> None:
        """Ends a run."""
        with self._transaction():
            self._connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", (state, time.time(), run))

    def publish(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, NewArtifact],
        ingredients: Ingredients | None = None,
    ) -> dict[str, StoredArtifact]:
        """Records an execution that ran, with its new artifacts and what its key is made of, all or nothing.

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
            self._insert(execution, inputs, stored, ingredients)
        return stored

    def record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact] | None = None,
        ingredients: Ingredients | None = None,
    ) -> None:
        """Records an execution that made nothing new: cached (with the outputs it found), refused or failed."""
        with self._transaction():
            self._insert(execution, inputs, outputs or {}, ingredients)

    def forget(self, paths: Iterable[str]) -> None:
        """Records that artifacts are no longer there: their rows stay, for the lineage, without a path."""
        with self._transaction():
            self._connection.executemany("UPDATE artifacts SET path = NULL WHERE path = ?", [(path,) for path in paths])

    def _insert(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact],
        ingredients: Ingredients | None,
    ) -> None:
        *own, cost = execution
        cursor = self._connection.execute(
            "INSERT INTO executions "
            "(run, node, component, key, state, seconds, message, cpu_seconds, peak_bytes, ended) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*own, *(cost or (None, None)), time.time()),
        )
        if ingredients is not None:
            self._keep(execution.key, ingredients)
        events = [("input", name, artifact.id) for name, artifact in inputs.items()]
        events += [("output", name, artifact.id) for name, artifact in outputs.items()]
        self._connection.executemany(
            "INSERT INTO events (execution, direction, name, artifact) VALUES (?, ?, ?, ?)",
            [(cursor.lastrowid, *event) for event in events],
        )

    def _keep(self, key: str, ingredients: Ingredients) -> None:
        content = ingredients._asdict()
        modules = json.dumps(content.pop("modules"))
        self._connection.execute("INSERT OR IGNORE INTO codes VALUES (?, ?)", (ingredients.code, modules))
        self._connection.execute(
            "INSERT OR IGNORE INTO ingredients VALUES (?, ?, ?)", (key, ingredients.code, json.dumps(content))
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
