"""The store of a root on this machine: every operation is one transaction in its database.

Paths are relative to the root, so that a root can be moved.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.orchestrator.records import Execution, Ingredients, NewArtifact, RunState, StoredArtifact
from pipeline.orchestrator.root_store import RootStore


class Store(RootStore):
    """The metadata of a root whose artifacts are all on this machine."""

    def start_run(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None = None,
        part_of: int | None = None,
        plan: Mapping[str, Sequence[str]] | None = None,
    ) -> int:
        """Starts a run under the next number."""
        with self.transaction():
            self.connection.execute(
                "UPDATE runs SET state = 'interrupted' WHERE state = 'running' AND invocation IS NULL"
            )
            self.interrupt_abandoned()
            cursor = self.connection.execute(
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
        """Starts a run of single steps, or joins it."""
        values = [None if value is None else json.dumps(value) for value in (settings, plan)]
        with self.transaction():
            run = self.run_to_join(pipeline, invocation)
            if run is None:
                cursor = self.connection.execute(
                    "INSERT INTO runs (pipeline, state, started, settings, plan, invocation) "
                    "VALUES (?, 'running', ?, ?, ?, ?)",
                    (pipeline, time.time(), *values, invocation),
                )
                assert cursor.lastrowid is not None
                return cursor.lastrowid
            # The job may have changed since the first step; then the newest plan says which steps are left.
            self.connection.execute(
                "UPDATE runs SET state = 'running', ended = NULL, settings = ?, plan = ? WHERE id = ?", (*values, run)
            )
        return run

    def settle_run(self, run: int) -> None:
        """Ends a run of single steps, unless some of its plan have yet to run."""
        with self.transaction():
            self.update_end(run, time.time())

    def finish_run(self, run: int, state: RunState) -> None:
        with self.transaction():
            self.connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", (state, time.time(), run))

    def publish(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, NewArtifact],
        ingredients: Ingredients | None = None,
    ) -> dict[str, StoredArtifact]:
        """Records an execution with its new artifacts in one transaction."""
        with self.transaction():
            stored = {}
            for name, new in outputs.items():
                self.connection.execute("UPDATE artifacts SET path = NULL WHERE path = ?", (new.path,))
                cursor = self.connection.execute(
                    "INSERT INTO artifacts (type, fingerprint, path) VALUES (?, ?, ?)", new
                )
                assert cursor.lastrowid is not None
                stored[name] = StoredArtifact(cursor.lastrowid, *new)
            self.insert(execution, inputs, stored, ingredients)
        return stored

    def record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact] | None = None,
        ingredients: Ingredients | None = None,
    ) -> None:
        with self.transaction():
            if not self.is_repeated(execution):
                self.insert(execution, inputs, outputs or {}, ingredients)

    def forget(self, paths: Iterable[str]) -> None:
        with self.transaction():
            self.connection.executemany("UPDATE artifacts SET path = NULL WHERE path = ?", [(path,) for path in paths])
