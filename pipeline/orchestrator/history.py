"""Questions about what happened under a root; nothing here writes."""

import json
import sqlite3
from collections.abc import Iterator
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
)

_EXECUTION = "x.id, x.run, x.node, x.component, x.key, x.state, x.seconds, x.message, x.cpu_seconds, x.peak_bytes"
_ARTIFACT = "a.id, a.type, a.fingerprint, a.path"


class History:
    """What a database tells.

    Args:
        connection: to a database whose tables are prepared.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, key: str) -> dict[str, StoredArtifact] | None:
        """The outputs, by name, of the newest execution that ran under this key; None if there is none."""
        newest = self._connection.execute(
            "SELECT max(id) FROM executions WHERE key = ? AND state = 'ran'", (key,)
        ).fetchone()[0]
        return None if newest is None else self.artifacts_of(newest, "output")

    def artifacts_of(self, execution: int, direction: Direction) -> dict[str, StoredArtifact]:
        """What an execution read or made, by name."""
        rows = self._connection.execute(
            f"SELECT e.name, {_ARTIFACT} FROM events e JOIN artifacts a ON a.id = e.artifact "  # noqa: S608
            "WHERE e.execution = ? AND e.direction = ? ORDER BY e.name",
            (execution, direction),
        )
        return {name: StoredArtifact(*artifact) for name, *artifact in rows}

    def maker_of(self, artifact: int) -> PastExecution:
        """The execution that made an artifact.

        Raises:
            KeyError: there is no such artifact.
        """
        found = self._executions(
            "JOIN events e ON e.execution = x.id AND e.direction = 'output' WHERE e.artifact = ? AND x.state = 'ran'",
            artifact,
        )
        for execution in found:
            return execution
        raise KeyError(artifact)

    def published(self, artifact_type: str, besides: str, pipeline: str) -> Iterator[StoredArtifact]:
        """Artifacts of a type that runs of a pipeline made, newest first.

        Those whose execution took an input with the fingerprint `besides` are left out.
        """
        rows = self._connection.execute(
            f"SELECT {_ARTIFACT} FROM artifacts a "  # noqa: S608
            "JOIN events made ON made.artifact = a.id AND made.direction = 'output' "
            "JOIN executions x ON x.id = made.execution AND x.state = 'ran' "
            "JOIN runs r ON r.id = x.run "
            "WHERE r.pipeline = ? AND a.type = ? AND a.path IS NOT NULL AND NOT EXISTS ("
            "  SELECT 1 FROM events took JOIN artifacts i ON i.id = took.artifact "
            "  WHERE took.execution = x.id AND took.direction = 'input' AND i.fingerprint = ?) "
            "ORDER BY x.id DESC, made.name",
            (pipeline, artifact_type, besides),
        )
        return (StoredArtifact(*row) for row in rows.fetchall())

    def last_ran(self, component: str) -> Execution | None:
        """The newest execution of a component that ran; None if it never did."""
        found = self._executions("WHERE x.component = ? AND x.state = 'ran' ORDER BY x.id DESC LIMIT 1", component)
        return next((each.execution for each in found), None)

    def last_of(self, node: str, pipeline: str, before: int | None = None) -> PastExecution | None:
        """The newest execution of a node, however it ended; None if there is none.

        Args:
            node: its name.
            pipeline: only runs of it.
            before: only runs before this one.
        """
        found = self._executions(
            "JOIN runs r ON r.id = x.run WHERE x.node = ? AND r.pipeline = ? AND (? IS NULL OR x.run < ?) "
            "ORDER BY x.id DESC LIMIT 1",
            *(node, pipeline, before, before),
        )
        return next(iter(found), None)

    def ran_under(self, key: str) -> Execution | None:
        """The newest execution that ran under a key; None if none did."""
        found = self._executions("WHERE x.key = ? AND x.state = 'ran' ORDER BY x.id DESC LIMIT 1", key)
        return next((each.execution for each in found), None)

    def paths(self) -> set[str]:
        """The paths of all published artifacts, relative to the root."""
        return {path for (path,) in self._connection.execute("SELECT path FROM artifacts WHERE path IS NOT NULL")}

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        rows = self._connection.execute("SELECT id, pipeline, state, started, ended FROM runs ORDER BY id DESC")
        return [Run(*row) for row in rows]

    def run_of(self, number: int, asked: str = "RUN") -> Run:
        """The run with a number.

        Args:
            number: of the run.
            asked: the argument that says so.

        Raises:
            InputError: there is no such run.
        """
        runs = {run.id: run for run in self.runs()}
        if number not in runs:
            known = f"{min(runs)} to {max(runs)}" if runs else "none yet"
            raise InputError(f"{asked} must be a number that status shows, {known}, got {number}")
        return runs[number]

    def settings(self, run: int) -> dict[str, Any] | None:
        """The settings of a run as JSON values; None where none were recorded."""
        row = self._connection.execute("SELECT settings FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None or row[0] is None else json.loads(row[0])

    def executions(self, run: int) -> list[Execution]:
        """What a run did, in order."""
        return [past.execution for past in self.past_executions(run)]

    def past_executions(self, run: int) -> list[PastExecution]:
        """The same with their ids."""
        return self._executions("WHERE x.run = ? ORDER BY x.id", run)

    def ingredients(self, key: str) -> Ingredients | None:
        """What a key was made of; None where it was not recorded, as by the first release."""
        row = self._connection.execute(
            "SELECT i.content, c.modules FROM ingredients i JOIN codes c ON c.digest = i.code WHERE i.key = ?", (key,)
        ).fetchone()
        return None if row is None else Ingredients(**json.loads(row[0]), modules=json.loads(row[1]))

    def artifacts(self) -> list[Published]:
        """All artifacts that are still on disk, newest first."""
        rows = self._connection.execute(
            f"SELECT x.node, e.name, x.run, x.ended, {_ARTIFACT} FROM artifacts a "  # noqa: S608
            "JOIN events e ON e.artifact = a.id AND e.direction = 'output' "
            "JOIN executions x ON x.id = e.execution AND x.state = 'ran' "
            "WHERE a.path IS NOT NULL ORDER BY a.id DESC"
        )
        return [
            Published(node, name, run, ended, StoredArtifact(*artifact)) for node, name, run, ended, *artifact in rows
        ]

    def _executions(self, which: str, *values: Any) -> list[PastExecution]:
        rows = self._connection.execute(f"SELECT {_EXECUTION} FROM executions x {which}", values)  # noqa: S608
        return [PastExecution(number, _execution(row)) for number, *row in rows.fetchall()]


def _execution(row: list[Any]) -> Execution:
    run, node, component, key, state, seconds, message, *cost = row
    return Execution(run, node, component, key, state, seconds, message, None if cost[0] is None else Cost(*cost))
