"""The metadata store of a root in SQLite: runs, executions, artifacts, and their relations.

Every operation is one transaction. Paths are relative to the root, so that a root can be moved.
"""

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from pipeline.orchestrator.database import can_write, connect, prepare
from pipeline.orchestrator.disk import disk_full_as_input_error
from pipeline.orchestrator.history import RunHistory
from pipeline.orchestrator.records import Execution, Ingredients, NewArtifact, RunState, StoredArtifact

DATABASE = "metadata.sqlite"
_IS_OPEN = "state = 'running' AND invocation IS NOT NULL"
_LAST_SIGN = "max(started, (SELECT coalesce(max(ended), 0) FROM executions WHERE run = runs.id))"
# A run of single steps of which none has run for so long, and checkpoints of a step so old, are given up.
ABANDONED_SECONDS = 14 * 24 * 3600


class Store(RunHistory):
    """The metadata of a root, to read and write; read-only if the root is not writable.

    Raises:
        InputError: the database is missing and `create` is false, has another schema version or is corrupted, or the
            disk is full (SQLite writes even to read).
    """

    def __init__(self, root: Path, *, create: bool = True) -> None:
        path = root / DATABASE
        if not create and not path.is_file():
            raise InputError(f"root must be a folder that a run has written to, got {root}: it has no {DATABASE}")
        with disk_full_as_input_error(root), contextlib.ExitStack() as stack:
            connection = connect(path)
            stack.callback(connection.close)
            prepare(connection, root, is_writable=can_write(path))
            stack.pop_all()
        super().__init__(connection)

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()

    def start_run(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None = None,
        part_of: int | None = None,
        plan: Mapping[str, Sequence[str]] | None = None,
    ) -> int:
        """Starts a run and returns its number; killed runs, which never ended, become `interrupted`.

        The caller must hold the root's lock; otherwise a run without an end may be alive. A run whose steps are
        commands of their own is alive between two of them; without a step for two weeks it becomes `interrupted`.
        """
        with self._transaction():
            self._connection.execute(
                "UPDATE runs SET state = 'interrupted' WHERE state = 'running' AND invocation IS NULL"
            )
            self._interrupt_abandoned()
            cursor = self._connection.execute(
                "INSERT INTO runs (pipeline, state, started, settings, part_of, plan) "
                "VALUES (?, 'running', ?, ?, ?, ?)",
                (
                    pipeline,
                    time.time(),
                    *(None if value is None else json.dumps(value) for value in (settings, part_of, plan)),
                ),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def join_run(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None,
        plan: Mapping[str, Sequence[str]],
        invocation: str | None,
    ) -> int:
        """Starts a run of which single steps run as commands of their own, or joins it; returns its number.

        Other runs stay as they are, as other steps may be running.

        Raises:
            InputError: the run with this identifier is of another pipeline.
        """
        values = [None if value is None else json.dumps(value) for value in (settings, plan)]
        with self._transaction():
            run = self._run_to_join(pipeline, invocation)
            if run is None:
                cursor = self._connection.execute(
                    "INSERT INTO runs (pipeline, state, started, settings, plan, invocation) "
                    "VALUES (?, 'running', ?, ?, ?, ?)",
                    (pipeline, time.time(), *values, invocation),
                )
                assert cursor.lastrowid is not None
                return cursor.lastrowid
            # The job may have changed since the first step; then the newest plan says which steps are left.
            self._connection.execute(
                "UPDATE runs SET state = 'running', ended = NULL, settings = ?, plan = ? WHERE id = ?", (*values, run)
            )
        return run

    def settle_run(self, run: int) -> None:
        """Ends a run of single steps, unless some of its plan have yet to run; each step's last execution counts."""
        with self._transaction():
            self._settle(run, time.time())

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
        """Records an execution that ran, with its new artifacts and the ingredients of its key, in one transaction.

        The row of an older artifact at the same path, which was replaced on disk, stays for the lineage without a path.
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
        """Records an execution without new artifacts: cached (with the reused outputs), refused or failed.

        A step that an orchestrator starts again in a run that has its result is recorded once.
        """
        with self._transaction():
            if not self._is_repeated(execution):
                self._insert(execution, inputs, outputs or {}, ingredients)

    def forget(self, paths: Iterable[str]) -> None:
        """Records that artifacts were removed; their rows stay for the lineage, without a path."""
        with self._transaction():
            self._connection.executemany("UPDATE artifacts SET path = NULL WHERE path = ?", [(path,) for path in paths])

    def _run_to_join(self, pipeline: str, invocation: str | None) -> int | None:
        """The number of the run with an identifier, which must be of this pipeline; None if there is none."""
        row = self._connection.execute("SELECT id, pipeline FROM runs WHERE invocation = ?", (invocation,)).fetchone()
        if row is None:
            return None
        check_pipeline(pipeline, row[1], invocation)
        return int(row[0])

    def _settle(self, run: int, ended: float) -> None:
        states = {execution.node: execution.state for execution in self.executions(run)}
        left = self.plan(run).keys() - {node for node, state in states.items() if state in ("ran", "cached")}
        state = "failed" if "failed" in states.values() else "refused" if "refused" in states.values() else "done"
        if state != "done" or not left:
            self._connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", (state, ended, run))

    def _interrupt_abandoned(self) -> None:
        """Ends runs of single steps that nobody has continued for long."""
        self._connection.execute(
            f"UPDATE runs SET state = 'interrupted' WHERE {_IS_OPEN} AND {_LAST_SIGN} < ?",  # noqa: S608
            (time.time() - ABANDONED_SECONDS,),
        )

    def _is_repeated(self, execution: Execution) -> bool:
        """Whether a cached execution is of a run of single steps in which the node's last one had the same outputs."""
        if execution.state != "cached":
            return False
        last = self._connection.execute(
            "SELECT x.key, x.state FROM executions x JOIN runs r ON r.id = x.run "
            "WHERE x.run = ? AND x.node = ? AND r.invocation IS NOT NULL ORDER BY x.id DESC LIMIT 1",
            (execution.run, execution.node),
        ).fetchone()
        return last is not None and last[0] == execution.key and last[1] in ("ran", "cached")

    def _insert(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact],
        ingredients: Ingredients | None,
        number: int | None = None,
        ended: float | None = None,
    ) -> None:
        """Inserts an execution; without `number`, SQLite numbers it."""
        *columns, cost = execution
        cursor = self._connection.execute(
            "INSERT INTO executions "
            "(id, run, node, component, key, state, seconds, message, cpu_seconds, peak_bytes, ended) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, *columns, *(cost or (None, None)), time.time() if ended is None else ended),
        )
        if ingredients is not None:
            content = ingredients._asdict()
            code = (ingredients.code, json.dumps(content.pop("modules")))
            self._connection.execute("INSERT OR IGNORE INTO codes VALUES (?, ?)", code)
            row = (execution.key, ingredients.code, json.dumps(content))
            self._connection.execute("INSERT OR IGNORE INTO ingredients VALUES (?, ?, ?)", row)
        events = [("input", name, artifact.id) for name, artifact in inputs.items()]
        events += [("output", name, artifact.id) for name, artifact in outputs.items()]
        self._connection.executemany(
            "INSERT INTO events (execution, direction, name, artifact) VALUES (?, ?, ?, ?)",
            [(cursor.lastrowid, *event) for event in events],
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # On a full disk SQLite has rolled back by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def check_pipeline(pipeline: str, name: str, invocation: str | None) -> None:
    """Checks that a run that a step joins is of its pipeline."""
    if name != pipeline:
        raise InputError(f"--run must identify a run of the job {pipeline!r}, got {invocation!r} of {name!r}")
