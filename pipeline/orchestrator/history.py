"""Read-only queries of a root's metadata."""

import json
import sqlite3
from typing import Any

from components.dsl.errors import InputError
from pipeline.orchestrator.records import (
    Cost,
    Direction,
    Execution,
    Ingredients,
    PastExecution,
    Published,
    Run,
    StoredArtifact,
    check_artifact_path,
)

_EXECUTION = "x.id, x.run, x.node, x.component, x.key, x.state, x.seconds, x.message, x.cpu_seconds, x.peak_bytes"
_ARTIFACT = "a.id, a.type, a.fingerprint, a.path"
_OF_JOB = "JOIN runs r ON r.id = x.run WHERE instr(r.pipeline || '/', ?) = 1"


class RunHistory:
    """Queries of a root's database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def pull(self, stored: StoredArtifact, at_most: float = float("inf")) -> bool:
        """Makes sure that an artifact is on this machine, and returns whether it is; it may be missing in a mirror.

        One of more than `at_most` bytes is not downloaded.
        """
        return True

    def find(self, key: str) -> dict[str, StoredArtifact] | None:
        """The outputs by name of the newest execution that ran with this key; None if there is none."""
        newest = self.connection.execute(
            "SELECT max(id) FROM executions WHERE key = ? AND state = 'ran'", (key,)
        ).fetchone()[0]
        return None if newest is None else self.artifacts_of(newest, "output")

    def artifacts_of(self, execution: int, direction: Direction) -> dict[str, StoredArtifact]:
        """The inputs or outputs of an execution by name."""
        rows = self.connection.execute(
            f"SELECT e.name, {_ARTIFACT} FROM events e JOIN artifacts a ON a.id = e.artifact "  # noqa: S608
            "WHERE e.execution = ? AND e.direction = ? ORDER BY e.name",
            (execution, direction),
        )
        return {name: _stored(artifact) for name, *artifact in rows}

    def maker_of(self, artifact: int) -> PastExecution:
        """The execution that made an artifact."""
        makers = self._executions(
            "JOIN events e ON e.execution = x.id AND e.direction = 'output' WHERE e.artifact = ? AND x.state = 'ran'",
            artifact,
        )
        if not makers:
            raise KeyError(artifact)
        return makers[0]

    def last_ran(self, component: str, pipeline: str) -> Execution | None:
        """The newest execution of a component that ran; None if it never ran for the job of a pipeline.

        The name of a pipeline is that of a job, or one such as `JOB/ladder`. What other jobs took says nothing about
        this one; executions of this pipeline take precedence over those of the job's other pipelines.
        """
        newest = self._executions(
            f"{_OF_JOB} AND x.component = ? AND x.state = 'ran' ORDER BY r.pipeline = ? DESC, x.id DESC LIMIT 1",
            *(_job_prefix(pipeline), component, pipeline),
        )
        return next((past.execution for past in newest), None)

    def last_of(self, node: str, pipeline: str, before: int | None = None) -> PastExecution | None:
        """The newest execution of a node in any state, before a run if one is named; None if its job has none."""
        newest = self._executions(
            f"{_OF_JOB} AND x.node = ? AND (? IS NULL OR x.run < ?) ORDER BY r.pipeline = ? DESC, x.id DESC LIMIT 1",
            *(_job_prefix(pipeline), node, before, before, pipeline),
        )
        return next(iter(newest), None)

    def ran_under(self, key: str) -> Execution | None:
        """The newest execution that ran with a key; None if none did."""
        newest = self._executions("WHERE x.key = ? AND x.state = 'ran' ORDER BY x.id DESC LIMIT 1", key)
        return next((past.execution for past in newest), None)

    def paths(self) -> set[str]:
        """The paths of all published artifacts, relative to the root."""
        return {path for (path,) in self.connection.execute("SELECT path FROM artifacts WHERE path IS NOT NULL")}

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        rows = self.connection.execute(
            "SELECT CAST(id AS INTEGER), pipeline, state, started, ended, part_of, invocation FROM runs "
            "ORDER BY id DESC"
        )
        return [Run(*row) for row in rows]

    def run_of(self, number: int, argument: str = "RUN") -> Run:
        """The run with this number."""
        runs = {run.id: run for run in self.runs()}
        if number not in runs:
            valid = f"{min(runs)} to {max(runs)}" if runs else "none yet"
            raise InputError(f"{argument} must be a number that show lists, {valid}, got {number}")
        return runs[number]

    def settings(self, run: int) -> dict[str, Any] | None:
        """The settings of a run as JSON values; None if none were recorded."""
        row = self.connection.execute("SELECT settings FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None or row[0] is None else json.loads(row[0])

    def plan(self, run: int) -> dict[str, list[str]]:
        """The steps that a run was to take, each with the steps whose outputs it reads; empty if none was recorded."""
        row = self.connection.execute("SELECT plan FROM runs WHERE id = ?", (run,)).fetchone()
        return {} if row is None or row[0] is None else json.loads(row[0])

    def executions(self, run: int) -> list[Execution]:
        """The executions of a run, in order."""
        return [past.execution for past in self.past_executions(run)]

    def past_executions(self, run: int) -> list[PastExecution]:
        """The executions of a run with their ids, in order."""
        return self._executions("WHERE x.run = ? ORDER BY x.id", run)

    def ingredients(self, key: str) -> Ingredients | None:
        """The ingredients of a key; None if they were not recorded."""
        row = self.connection.execute(
            "SELECT i.content, c.modules FROM ingredients i JOIN codes c ON c.digest = i.code WHERE i.key = ?", (key,)
        ).fetchone()
        return None if row is None else Ingredients(**json.loads(row[0]), modules=json.loads(row[1]))

    def artifacts(self) -> list[Published]:
        """All artifacts on disk, newest first."""
        rows = self.connection.execute(
            f"SELECT x.node, e.name, x.run, x.ended, {_ARTIFACT} FROM artifacts a "  # noqa: S608
            "JOIN events e ON e.artifact = a.id AND e.direction = 'output' "
            "JOIN executions x ON x.id = e.execution AND x.state = 'ran' "
            "WHERE a.path IS NOT NULL ORDER BY a.id DESC"
        )
        return [Published(node, name, run, ended, _stored(artifact)) for node, name, run, ended, *artifact in rows]

    def _executions(self, which: str, *values: Any) -> list[PastExecution]:
        rows = self.connection.execute(f"SELECT {_EXECUTION} FROM executions x {which}", values)  # noqa: S608
        return [
            PastExecution(row[0], Execution._make([*row[1:8], None if row[8] is None else Cost(*row[8:])]))
            for row in rows.fetchall()
        ]


def _stored(row: list[Any]) -> StoredArtifact:
    stored = StoredArtifact(*row)
    check_artifact_path(stored.path)
    return stored


def _job_prefix(pipeline: str) -> str:
    """What the names of all pipelines of a job begin with, once they end with a slash."""
    return pipeline.partition("/")[0] + "/"
