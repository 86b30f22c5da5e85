"""The interface of a root's store: its metadata in SQLite, and where its artifacts are."""

import abc
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


class RootStore(RunHistory, abc.ABC):
    """What runs and commands ask of a root, on this machine (`Store`) or elsewhere (a plug-in).

    A subclass records runs and executions. The methods about artifacts are those of a root whose artifacts are all on
    this machine. Read-only if the root is not writable.

    Attributes:
        connection: to the database of the root, with a table for each of runs, executions, artifacts and their events.

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
        self.root = root

    def close(self) -> None:
        """Closes the database."""
        self.connection.close()

    @abc.abstractmethod
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

    @abc.abstractmethod
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

    @abc.abstractmethod
    def settle_run(self, run: int) -> None:
        """Ends a run of single steps, unless some of its plan have yet to run; each step's last execution counts."""

    @abc.abstractmethod
    def finish_run(self, run: int, state: RunState) -> None:
        """Ends a run."""

    @abc.abstractmethod
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

    @abc.abstractmethod
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

    @abc.abstractmethod
    def forget(self, paths: Iterable[str]) -> None:
        """Records that artifacts were removed; their rows stay for the lineage, without a path."""

    def refresh(self) -> None:
        """Reads what other machines have recorded meanwhile."""

    def claim(self, key: str, step: str, inputs: Iterable[StoredArtifact]) -> str | None:
        """Claims a step that is about to be launched; returns why it has to wait, None if it is free.

        On one machine every step is free, because the lock of the root keeps other runs away.
        """
        return None

    @contextlib.contextmanager
    def reading(self, key: str, inputs: Sequence[StoredArtifact]) -> Iterator[None]:
        """A context in which the inputs of a step are on this machine; at its end the step is free for others.

        Raises:
            InputError: an input is missing or damaged, and the next run makes it again.
        """
        yield

    def vouches_for(self, stored: StoredArtifact) -> bool | None:
        """Whether an artifact is where it was published, and nobody can have changed it; None if its files must say."""
        return None

    def fetch(self, stored: StoredArtifact) -> None:
        """Makes an artifact available on this machine, also after the store was closed.

        Raises:
            InputError: it is missing or damaged.
        """

    def read_file(self, stored: StoredArtifact, name: str) -> bytes:
        """The content of one file of an artifact, without `fetch`; also after the store was closed.

        Raises:
            InputError: it is missing.
        """
        return (self.root / str(stored.path) / name).read_bytes()

    def run_to_join(self, pipeline: str, invocation: str | None) -> int | None:
        """The number of the run with an identifier, which must be of this pipeline; None if there is none."""
        row = self.connection.execute("SELECT id, pipeline FROM runs WHERE invocation = ?", (invocation,)).fetchone()
        if row is None:
            return None
        check_pipeline(pipeline, row[1], invocation)
        return int(row[0])

    def update_end(self, run: int, ended: float) -> None:
        """Ends a run of single steps as `settle_run` says, inside of a transaction."""
        states = {execution.node: execution.state for execution in self.executions(run)}
        left = self.plan(run).keys() - {node for node, state in states.items() if state in ("ran", "cached")}
        state = "failed" if "failed" in states.values() else "refused" if "refused" in states.values() else "done"
        if state != "done" or not left:
            self.connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", (state, ended, run))

    def interrupt_abandoned(self) -> None:
        """Ends runs of single steps that nobody has continued for long, inside of a transaction."""
        self.connection.execute(
            f"UPDATE runs SET state = 'interrupted' WHERE {_IS_OPEN} AND {_LAST_SIGN} < ?",  # noqa: S608
            (time.time() - ABANDONED_SECONDS,),
        )

    def is_repeated(self, execution: Execution) -> bool:
        """Whether a cached execution is of a run of single steps in which the node's last one had the same outputs."""
        if execution.state != "cached":
            return False
        last = self.connection.execute(
            "SELECT x.key, x.state FROM executions x JOIN runs r ON r.id = x.run "
            "WHERE x.run = ? AND x.node = ? AND r.invocation IS NOT NULL ORDER BY x.id DESC LIMIT 1",
            (execution.run, execution.node),
        ).fetchone()
        return last is not None and last[0] == execution.key and last[1] in ("ran", "cached")

    def insert(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact],
        ingredients: Ingredients | None,
        number: int | None = None,
        ended: float | None = None,
    ) -> None:
        """Inserts an execution, inside of a transaction; without `number`, SQLite numbers it."""
        *columns, cost = execution
        cursor = self.connection.execute(
            "INSERT INTO executions "
            "(id, run, node, component, key, state, seconds, message, cpu_seconds, peak_bytes, ended) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, *columns, *(cost or (None, None)), time.time() if ended is None else ended),
        )
        if ingredients is not None:
            content = ingredients._asdict()
            code = (ingredients.code, json.dumps(content.pop("modules")))
            self.connection.execute("INSERT OR IGNORE INTO codes VALUES (?, ?)", code)
            row = (execution.key, ingredients.code, json.dumps(content))
            self.connection.execute("INSERT OR IGNORE INTO ingredients VALUES (?, ?, ?)", row)
        events = [("input", name, artifact.id) for name, artifact in inputs.items()]
        events += [("output", name, artifact.id) for name, artifact in outputs.items()]
        self.connection.executemany(
            "INSERT INTO events (execution, direction, name, artifact) VALUES (?, ?, ?, ?)",
            [(cursor.lastrowid, *event) for event in events],
        )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A context whose changes are all written, or none."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # On a full disk SQLite has rolled back by itself.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")


def check_pipeline(pipeline: str, name: str, invocation: str | None) -> None:
    """Checks that a run that a step joins is of its pipeline."""
    if name != pipeline:
        raise InputError(f"--run must identify a run of the job {pipeline!r}, got {invocation!r} of {name!r}")
