"""The metadata of a mirror: every change is an entry of the remote log first, and then a row of SQLite.

Rows have the same numbers on every machine: that of an execution is made of its log's number and its place there, that
of an artifact of its execution's and its place among the outputs. So "the newest" is the same everywhere, in whatever
order entries arrive. The number of a log is that of its run, or of one of the single steps that joined the run.
"""

import contextlib
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.dsl.artifact import MANIFEST
from components.dsl.errors import InputError
from components.objects.mirror import root_address
from components.objects.store import ObjectStore
from pipeline.orchestrator.records import ARTIFACTS, Cost, Execution, Ingredients, NewArtifact, RunState, StoredArtifact
from pipeline.orchestrator.root_store import RootStore, check_pipeline
from plugins.remote_roots.artifacts import evict, pull_artifact, upload_artifact
from plugins.remote_roots.leases import Leases, end_heartbeat, running_runs
from plugins.remote_roots.log import END, LOG, START, LogEntry, RunLog, entry_name
from plugins.remote_roots.mirror import cache_locked, check_format, owner_of

# Bits of an execution's place in its run, and of an artifact's place among the outputs.
_EXECUTIONS, _OUTPUTS = 20, 8
_SEEN = "CREATE TABLE IF NOT EXISTS seen_entries (name TEXT PRIMARY KEY) WITHOUT ROWID"
_STARTS = f"SELECT name FROM seen_entries WHERE name LIKE '{LOG}/%/{START}.json'"  # noqa: S608


class RemoteStore(RootStore):
    """The metadata of a mirror, brought up to date when it is opened, and the artifacts at its address."""

    def __init__(self, root: Path, *, create: bool = True, is_shared: bool = False) -> None:
        address = root_address(root)
        assert address is not None
        self.objects = ObjectStore(address)
        if not check_format(ObjectStore(address, tries=2), create=create):
            raise InputError(f"root must be an address that a run has written to, got {address}: nothing is there")
        super().__init__(root)
        self._log, self._is_shared = RunLog(self.objects), is_shared
        self._leases: Leases | None = None
        # Key -> the highest number of an output that was found.
        self._newest: dict[str, int] = {}
        # Key -> the folders of the inputs of a step that runs.
        self._reading: dict[str, list[Path]] = {}
        self._places: dict[int, int] = {}
        # Runs that this process writes to -> the numbers of its logs.
        self._logs: dict[int, int] = {}
        try:
            self.connection.execute(_SEEN)
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
        seen = {name for (name,) in self.connection.execute("SELECT name FROM seen_entries")}
        for entry in self._log.new_entries(seen):
            self._apply(entry)
        alive = running_runs(self.objects)
        open_runs = self.connection.execute(
            "SELECT id, state FROM runs "
            "WHERE ended IS NULL AND state IN ('running', 'interrupted') AND invocation IS NULL"
        )
        with self.transaction():
            self.interrupt_abandoned()
            for run, state in open_runs.fetchall():
                current = "running" if run in alive else "interrupted"
                if state != current:
                    self.connection.execute("UPDATE runs SET state = ? WHERE id = ?", (current, run))

    def newest_log(self) -> int:
        """The highest number of a log that was seen; 0 without one."""
        return max((_number_of(name) for (name,) in self.connection.execute(_STARTS)), default=0)

    def start_run(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None = None,
        part_of: int | None = None,
        plan: Mapping[str, Sequence[str]] | None = None,
    ) -> int:
        """Starts a run under a number that no other machine has; runs of this mirror that were killed get their end."""
        owner = owner_of(self.root)
        ended = f"replace(name, '/{START}.json', '/{END}.json') IN (SELECT name FROM seen_entries)"  # noqa: S608
        # This process has locked the mirror exclusively, so that no other process writes to its logs.
        for (name,) in self.connection.execute(f"{_STARTS} AND NOT {ended}").fetchall():
            content, number = self.objects.read_json(name), _number_of(name)
            if content is not None and content["owner"] == owner:
                run = content["joins"] or number
                self._append(number, END, {"run": run, "state": "interrupted", "ended": time.time()})
                end_heartbeat(self.objects, number)
        return self._start_log(pipeline, settings, plan, part_of=part_of)

    def join_run(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None,
        plan: Mapping[str, Sequence[str]],
        invocation: str | None,
    ) -> int:
        """Starts a run of single steps, or joins it, with a log of its own; steps on other machines may do so at once.

        The run has the number of its first step's log. It is `running` until each step of the plan is done or one has
        failed, or it was abandoned, as there is no sign of life between two steps.
        """
        return self._start_log(pipeline, settings, plan, invocation=invocation)

    def settle_run(self, run: int) -> None:
        """Ends the log of this process; whether the run has ended follows from the executions, on all machines."""
        self.finish_run(run, "done")

    def finish_run(self, run: int, state: RunState) -> None:
        """Ends a run, or the log of a step that joined one."""
        self._append(self._logs[run], END, {"run": run, "state": state, "ended": time.time()})
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
            upload_artifact(self.objects, self.root / new.path, f"{new.path}/{self._logs[execution.run]}")
        first = self._record(execution, inputs, ingredients, new=outputs) << _OUTPUTS
        return {name: StoredArtifact(first + index, *new) for index, (name, new) in enumerate(outputs.items())}

    def record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        outputs: Mapping[str, StoredArtifact] | None = None,
        ingredients: Ingredients | None = None,
    ) -> None:
        if self.is_repeated(execution):
            return
        # Those of a cached execution stand in the entry of the one that ran.
        if execution.state == "cached":
            ingredients = None
        self._record(execution, inputs, ingredients, reused=outputs or {})

    def forget(self, paths: Iterable[str]) -> None:
        numbers = [
            number
            for path in paths
            for (number,) in self.connection.execute("SELECT id FROM artifacts WHERE path = ?", (path,))
        ]
        if numbers:
            content = {"artifacts": numbers, "claim": uuid.uuid4().hex}
            self._apply(LogEntry(self._log.forget(content), 0, "", content))

    def find(self, key: str) -> dict[str, StoredArtifact] | None:
        outputs = super().find(key)
        self._newest[key] = _newest_output(outputs)
        return outputs

    def claim(self, key: str, step: str, inputs: Iterable[StoredArtifact]) -> str | None:
        assert self._leases is not None, "only a run claims steps"
        lease = self._leases.claim(key, step, [*map(place_of, inputs)])
        if lease is not None:
            return f"run {lease.run} ({lease.owner.partition('/')[0]}) is running it; waiting for its result"
        self.refresh()
        if _newest_output(super().find(key)) != self._newest[key]:
            self._leases.release(key)
            return "another machine has just run it"
        return None

    @contextlib.contextmanager
    def reading(self, key: str, inputs: Sequence[StoredArtifact]) -> Iterator[None]:
        """A context in which the inputs of a step are in the mirror; at its end the lease is given back."""
        assert self._leases is not None, "only a run reads inputs of steps"
        try:
            self._reading[key] = [self.root / str(stored.path) for stored in inputs]
            # Other processes must not remove what this one reads.
            held = cache_locked(self.root, is_alone=False) if self._is_shared else contextlib.nullcontext()
            with held:
                for stored in inputs:
                    if not self.pull(stored):
                        self.forget([str(stored.path)])
                        raise self._damaged(stored)
                yield
        finally:
            self._reading.pop(key, None)
            self._leases.release(key)
            # Beside other processes, the last one removes artifacts above the limit of the cache.
            alone = cache_locked(self.root, is_alone=True) if self._is_shared else contextlib.nullcontext(True)
            with alone as is_alone:
                if is_alone:
                    folders = [folder for inputs in self._reading.values() for folder in inputs]
                    evict(self.root, self.root / ARTIFACTS, folders)

    def vouches_for(self, stored: StoredArtifact) -> bool:
        """Whether the address still has a published artifact, to which nothing is ever written twice."""
        return self.objects.state(f"{place_of(stored)}/{MANIFEST}") is not None

    def fetch(self, stored: StoredArtifact) -> None:
        """Downloads an artifact unless it is in the mirror."""
        if not self.pull(stored):
            raise self._damaged(stored)

    def read_file(self, stored: StoredArtifact, name: str) -> bytes:
        content = self.objects.read(f"{place_of(stored)}/{name}")
        if content is None:
            raise self._damaged(stored)
        return content

    def pull(self, stored: StoredArtifact, at_most: float = float("inf")) -> bool:
        """Downloads an artifact unless it is in the mirror; returns False if it is damaged, missing or too large."""
        assert stored.path is not None
        if at_most < float("inf") and self.size(stored) > at_most:
            return False
        folder = self.root / stored.path
        return pull_artifact(self.objects, place_of(stored), self.root, folder, (stored.type, stored.fingerprint))

    def size(self, stored: StoredArtifact) -> int:
        """The bytes of a published artifact at the address."""
        return sum(state.size for state in self.objects.find_all(place_of(stored)).values())

    def _damaged(self, stored: StoredArtifact) -> InputError:
        artifact = f"{self.objects.address}/{place_of(stored)}"
        return InputError(f"{artifact} must be intact, and is damaged or missing; run again: its step makes it again")

    def _start_log(
        self,
        pipeline: str,
        settings: Mapping[str, Any] | None,
        plan: Mapping[str, Sequence[str]] | None,
        *,
        part_of: int | None = None,
        invocation: str | None = None,
    ) -> int:
        """Claims a log for this process and begins its heartbeat; returns the number of the run."""
        owner = owner_of(self.root)
        content = {
            "pipeline": pipeline,
            "started": time.time(),
            "settings": settings,
            "part_of": part_of,
            "plan": plan,
            "invocation": invocation,
            "joins": self.run_to_join(pipeline, invocation),
            "owner": owner,
            "claim": uuid.uuid4().hex,
        }

        def joined_run(number: int, other: Mapping[str, Any]) -> int | None:
            if invocation is None or other["invocation"] != invocation:
                return None
            check_pipeline(pipeline, other["pipeline"], invocation)
            return int(other["joins"] or number)

        number, run = self._log.claim(self.newest_log() + 1, content, joined_run)
        self._logs[run] = number
        self._leases = Leases(self.objects, number, owner)
        self.refresh()
        return run

    def _record(
        self,
        execution: Execution,
        inputs: Mapping[str, StoredArtifact],
        ingredients: Ingredients | None,
        *,
        new: Mapping[str, NewArtifact] | None = None,
        reused: Mapping[str, StoredArtifact] | None = None,
    ) -> int:
        """Writes an execution to the log of this process, and returns its number."""
        log = self._logs[execution.run]
        place = self._places[log] = self._places.get(log, 0) + 1
        content = {
            "execution": execution._asdict() | {"cost": execution.cost and execution.cost._asdict()},
            "ended": time.time(),
            "inputs": {name: stored.id for name, stored in inputs.items()},
            "new": {name: artifact._asdict() for name, artifact in (new or {}).items()},
            "reused": {name: stored.id for name, stored in (reused or {}).items()},
            "ingredients": ingredients and ingredients._asdict(),
        }
        self._append(log, str(place), content)
        return execution_number(log, place)

    def _append(self, number: int, part: str, content: dict[str, Any]) -> None:
        """Writes an entry; an end that is there already stays."""
        name = entry_name(number, part)
        if self._log.append(number, part, content):
            self._apply(LogEntry(name, number, part, content))
        elif part != END:
            raise RuntimeError(f"{name} was written by another process, which must not have the number {number}")

    def _apply(self, entry: LogEntry) -> None:
        """Inserts an entry in one transaction, unless it was inserted before."""
        with self.transaction():
            cursor = self.connection.execute("INSERT OR IGNORE INTO seen_entries VALUES (?)", (entry.name,))
            if cursor.rowcount == 0:
                return
            if not entry.number:
                removed = [(number,) for number in entry.content["artifacts"]]
                self.connection.executemany("UPDATE artifacts SET path = NULL WHERE id = ?", removed)
            elif entry.part == START:
                self._insert_run(entry)
            elif entry.part == END:
                run, state, ended = (entry.content[name] for name in ("run", "state", "ended"))
                row = self.connection.execute("SELECT invocation FROM runs WHERE id = ?", (run,)).fetchone()
                if row[0] is None:
                    self.connection.execute("UPDATE runs SET state = ?, ended = ? WHERE id = ?", (state, ended, run))
                else:
                    # A run of single steps ends if nothing is left to do, in whatever order their ends arrive.
                    self.update_end(run, ended)
            else:
                self._insert_execution(entry)

    def _insert_run(self, entry: LogEntry) -> None:
        """Inserts a run; a step that joins one gives it the newest plan instead."""
        content = entry.content
        names = ("settings", "plan", "part_of")
        settings, plan, part_of = (None if content[name] is None else json.dumps(content[name]) for name in names)
        if content["joins"] is not None:
            self.connection.execute(
                "UPDATE runs SET state = 'running', ended = NULL, settings = ?, plan = ? WHERE id = ?",
                (settings, plan, content["joins"]),
            )
            return
        self.connection.execute(
            "INSERT INTO runs (id, pipeline, state, started, settings, part_of, plan, invocation) "
            "VALUES (?, ?, 'running', ?, ?, ?, ?, ?)",
            (entry.number, content["pipeline"], content["started"], settings, part_of, plan, content["invocation"]),
        )

    def _insert_execution(self, entry: LogEntry) -> None:
        content, place = entry.content, int(entry.part)
        fields = content["execution"]
        execution = Execution(**fields | {"cost": fields["cost"] and Cost(**fields["cost"])})
        new = {name: NewArtifact(**artifact) for name, artifact in content["new"].items()}
        number = execution_number(entry.number, place)
        outputs = {name: _reference(stored) for name, stored in content["reused"].items()}
        for index, (name, artifact) in enumerate(new.items()):
            stored = (number << _OUTPUTS) + index
            # Of artifacts with one path, the one with the highest number has it.
            path, older = artifact.path, "UPDATE artifacts SET path = NULL WHERE path = ? AND id <= ?"
            self.connection.execute(older, (path, stored))
            taken = self.connection.execute("SELECT 1 FROM artifacts WHERE path = ?", (path,)).fetchone() is not None
            self.connection.execute(
                "INSERT INTO artifacts (id, type, fingerprint, path) VALUES (?, ?, ?, ?)",
                (stored, artifact.type, artifact.fingerprint, None if taken else path),
            )
            outputs[name] = _reference(stored)
        inputs = {name: _reference(stored) for name, stored in content["inputs"].items()}
        ingredients = content["ingredients"] and Ingredients(**content["ingredients"])
        self.insert(execution, inputs, outputs, ingredients, number, content["ended"])


def execution_number(log: int, place: int) -> int:
    """The number of an execution, from the number of its log and its place in it, from 1."""
    return (log << _EXECUTIONS) + place


def place_of(stored: StoredArtifact) -> str:
    """The name of an artifact in the root: its path and its log's number, so that nothing is ever written twice."""
    return f"{stored.path}/{stored.id >> (_EXECUTIONS + _OUTPUTS)}"


def _number_of(name: str) -> int:
    """The number of a log, from the name of an entry."""
    return int(name.split("/")[1])


def _newest_output(outputs: Mapping[str, StoredArtifact] | None) -> int:
    """The highest number of an output; 0 without outputs."""
    return max((stored.id for stored in (outputs or {}).values()), default=0)


def _reference(number: int) -> StoredArtifact:
    return StoredArtifact(number, "", "", None)
