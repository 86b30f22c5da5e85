"""The metadata of a mirror: every change is an entry of the remote log first, and then a row of SQLite.

Rows have the same numbers on every machine: that of an execution is made of its run's and its place in it, that of an
artifact of its execution's and its place among the outputs. So "the newest" is the same everywhere, in whatever order
entries arrive.
"""

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.objects.mirror import root_address
from components.objects.store import ObjectStore
from pipeline.orchestrator.records import Cost, Execution, Ingredients, NewArtifact, RunState, StoredArtifact
from pipeline.orchestrator.store import Store
from pipeline.remote.artifacts import holds_artifact, pull_artifact, upload_artifact
from pipeline.remote.leases import Leases, end_heartbeat, running_runs
from pipeline.remote.log import END, START, LogEntry, RunLog, entry_name
from pipeline.remote.mirror import check_format, owner_of

# Bits of an execution's place in its run, and of an artifact's place among the outputs.
_EXECUTIONS, _OUTPUTS = 20, 8
_SEEN = "CREATE TABLE IF NOT EXISTS seen_entries (name TEXT PRIMARY KEY) WITHOUT ROWID"


class RemoteStore(Store):
    """The metadata of a mirror, brought up to date when it is opened.

    Args:
        root: the mirror.
        create: whether to create a missing database, and a root where none is.

    Attributes:
        objects: the objects of the root.

    Raises:
        InputError: see `Store` and `ObjectStore`.
    """

    def __init__(self, root: Path, *, create: bool = True) -> None:
        address = root_address(root)
        assert address is not None
        self.objects = ObjectStore(address)
        if not check_format(ObjectStore(address, tries=2), create=create):
            raise InputError(f"root must be an address that a run has written to, got {address}: nothing is there")
        super().__init__(root)
        self._root, self._log = root, RunLog(self.objects)
        self._leases: Leases | None = None
        self._places: dict[int, int] = {}
        try:
            self._connection.execute(_SEEN)
            self.refresh()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the heartbeat of the run, if one is going on, and closes the database."""
        leases, self._leases = self._leases, None
        try:
            if leases is not None:
                leases.end()
        finally:
            super().close()

    def refresh(self) -> None:
        """Inserts the entries of the log that other machines wrote meanwhile."""
        seen = {name for (name,) in self._connection.execute("SELECT name FROM seen_entries")}
        for entry in self._log.new_entries(seen):
            self._apply(entry)
        alive = running_runs(self.objects)
        open_runs = self._connection.execute(
            "SELECT id, state FROM runs WHERE ended IS NULL AND state IN ('running', 'interrupted')"
        )
        with self._transaction():
            for run, state in open_runs.fetchall():
                current = "running" if run in alive else "interrupted"
                if state != current:
                    self._connection.execute("UPDATE runs SET state = ? WHERE id = ?", (current, run))

    def leases(self) -> Leases:
        """The leases of the run that `start_run` started."""
        assert self._leases is not None
        return self._leases

    def start_run(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None = None,
        part_of: int | None = None,
        plan: Mapping[str, Sequence[str]] | None = None,
    ) -> int:
        """Starts a run under a number that no other machine has; runs of this mirror that were killed get their end."""
        owner = owner_of(self._root)
        self._end_killed_runs(owner)
        newest = self._connection.execute("SELECT max(id) FROM runs").fetchone()[0] or 0
        content = {
            "pipeline": pipeline,
            "started": time.time(),
            "settings": settings,
            "part_of": part_of,
            "plan": plan,
            "owner": owner,
            "claim": uuid.uuid4().hex,
        }
        run = self._log.claim_run(newest + 1, content)
        self._leases = Leases(self.objects, run, owner)
        self.refresh()
        return run

    def finish_run(self, run: int, state: RunState) -> None:
        """Ends a run."""
        self._append(run, END, {"state": state, "ended": time.time()})
        if self._leases is not None:
            self._leases.end()
            self._leases = None

    def publish(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, NewArtifact],
        ingredients: Ingredients | None = None,
    ) -> dict[str, StoredArtifact]:
        """Uploads the new artifacts, then records the execution: before its entry nobody knows of them."""
        for new in outputs.values():
            upload_artifact(self.objects, self._root / new.path, f"{new.path}/{execution.run}")
        place = self._record(execution, inputs, ingredients, new=outputs)
        first = execution_number(execution.run, place) << _OUTPUTS
        return {name: StoredArtifact(first + index, *new) for index, (name, new) in enumerate(outputs.items())}

    def record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact] | None = None,
        ingredients: Ingredients | None = None,
    ) -> None:
        """Records an execution without new artifacts."""
        # Those of a cached execution stand in the entry of the one that ran.
        if execution.state == "cached":
            ingredients = None
        self._record(execution, inputs, ingredients, reused=outputs or {})

    def forget(self, paths: Iterable[str]) -> None:
        """Records that artifacts were removed, for all machines."""
        numbers = [
            number
            for path in paths
            for (number,) in self._connection.execute("SELECT id FROM artifacts WHERE path = ?", (path,))
        ]
        if numbers:
            content = {"artifacts": numbers, "claim": uuid.uuid4().hex}
            self._apply(LogEntry(self._log.forget(content), 0, "", content))

    def holds(self, stored: StoredArtifact) -> bool:
        """Whether the address still has a published artifact."""
        return holds_artifact(self.objects, place_of(stored))

    def pull(self, stored: StoredArtifact, at_most: float = float("inf")) -> bool:
        """Downloads an artifact unless it is in the mirror; returns False if it is damaged, missing or too large."""
        assert stored.path is not None
        if at_most < float("inf") and self.size(stored) > at_most:
            return False
        folder = self._root / stored.path
        return pull_artifact(self.objects, place_of(stored), self._root, folder, (stored.type, stored.fingerprint))

    def size(self, stored: StoredArtifact) -> int:
        """The bytes of a published artifact at the address."""
        return sum(state.size for state in self.objects.find_all(place_of(stored)).values())

    def _end_killed_runs(self, owner: str) -> None:
        """Writes the end of earlier runs of this mirror, whose lock this process holds."""
        open_runs = self._connection.execute("SELECT id FROM runs WHERE ended IS NULL").fetchall()
        for (run,) in open_runs:
            content = self.objects.read_json(entry_name(run, START))
            if content is not None and content["owner"] == owner:
                self._append(run, END, {"state": "interrupted", "ended": time.time()})
                end_heartbeat(self.objects, run)

    def _record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        ingredients: Ingredients | None,
        *,
        new: Mapping[str, NewArtifact] | None = None,
        reused: Mapping[str, StoredArtifact] | None = None,
    ) -> int:
        place = self._places[execution.run] = self._places.get(execution.run, 0) + 1
        content = {
            "execution": execution._asdict() | {"cost": execution.cost and execution.cost._asdict()},
            "ended": time.time(),
            "inputs": {name: stored.id for name, stored in inputs.items()},
            "new": {name: artifact._asdict() for name, artifact in (new or {}).items()},
            "reused": {name: stored.id for name, stored in (reused or {}).items()},
            "ingredients": ingredients and ingredients._asdict(),
        }
        self._append(execution.run, str(place), content)
        return place

    def _append(self, run: int, part: str, content: dict[str, Any]) -> None:
        """Writes an entry of a run; an end that is there already stays."""
        if self._log.append(run, part, content):
            self._apply(LogEntry(entry_name(run, part), run, part, content))
        elif part != END:
            raise RuntimeError(f"{entry_name(run, part)} was written by another process, which must not have run {run}")

    def _apply(self, entry: LogEntry) -> None:
        """Inserts an entry in one transaction, unless it was inserted before."""
        with self._transaction():
            cursor = self._connection.execute("INSERT OR IGNORE INTO seen_entries VALUES (?)", (entry.name,))
            if cursor.rowcount == 0:
                return
            if not entry.run:
                removed = [(number,) for number in entry.content["artifacts"]]
                self._connection.executemany("UPDATE artifacts SET path = NULL WHERE id = ?", removed)
            elif entry.part == START:
                self._insert_run(entry)
            elif entry.part == END:
                values = (entry.content["state"], entry.content["ended"], entry.run)
                self._connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", values)
            else:
                self._insert_execution(entry)

    def _insert_run(self, entry: LogEntry) -> None:
        content = entry.content
        texts = (
            None if content[name] is None else json.dumps(content[name]) for name in ("settings", "part_of", "plan")
        )
        self._connection.execute(
            "INSERT INTO runs (id, pipeline, state, started, settings, part_of, plan) "
            "VALUES (?, ?, 'running', ?, ?, ?, ?)",
            (entry.run, content["pipeline"], content["started"], *texts),
        )

    def _insert_execution(self, entry: LogEntry) -> None:
        content, place = entry.content, int(entry.part)
        fields = content["execution"]
        execution = Execution(**fields | {"cost": fields["cost"] and Cost(**fields["cost"])})
        new = {name: NewArtifact(**artifact) for name, artifact in content["new"].items()}
        number = execution_number(entry.run, place)
        outputs = {name: _reference(stored) for name, stored in content["reused"].items()}
        for index, (name, artifact) in enumerate(new.items()):
            stored = (number << _OUTPUTS) + index
            self._insert_artifact(stored, artifact)
            outputs[name] = _reference(stored)
        inputs = {name: _reference(stored) for name, stored in content["inputs"].items()}
        ingredients = content["ingredients"] and Ingredients(**content["ingredients"])
        self._insert(execution, inputs, outputs, ingredients, number, content["ended"])

    def _insert_artifact(self, number: int, artifact: NewArtifact) -> None:
        """Inserts an artifact; of those with one path, the one with the highest number has it."""
        newer = self._connection.execute(
            "SELECT 1 FROM artifacts WHERE path = ? AND id > ?", (artifact.path, number)
        ).fetchone()
        if newer is None:
            self._connection.execute("UPDATE artifacts SET path = NULL WHERE path = ?", (artifact.path,))
        path = artifact.path if newer is None else None
        self._connection.execute(
            "INSERT INTO artifacts (id, type, fingerprint, path) VALUES (?, ?, ?, ?)",
            (number, artifact.type, artifact.fingerprint, path),
        )


def execution_number(run: int, place: int) -> int:
    """The number of an execution, from its run and its place in it, from 1."""
    return (run << _EXECUTIONS) + place


def place_of(stored: StoredArtifact) -> str:
    """The name of an artifact in the root: its path and the run that made it, so that nothing is ever written twice."""
    return f"{stored.path}/{stored.id >> (_EXECUTIONS + _OUTPUTS)}"


def _reference(number: int) -> StoredArtifact:
    return StoredArtifact(number, "", "", None)
