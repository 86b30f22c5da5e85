"""Runs the steps of a mirror: a lease for each step, and its inputs pulled when it starts."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.dsl.artifact import Artifact
from components.dsl.component import Node
from components.dsl.errors import InputError
from pipeline.orchestrator.launcher import CheckedNode, LaunchedStep, Launcher, StepPlan
from pipeline.orchestrator.locks import cache_locked
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.records import ARTIFACTS, StoredArtifact
from pipeline.orchestrator.remote_store import RemoteStore, place_of
from pipeline.remote.artifacts import evict


class RemoteLauncher(Launcher):
    """Plans, launches and publishes the steps of a run in a mirror."""

    def __init__(self, root: Path, store: RemoteStore, run: int, *, is_shared: bool = False, **options: Any) -> None:
        super().__init__(root, store, run, **options)
        self._remote, self._is_shared = store, is_shared
        self._newest: dict[str, int] = {}
        self._published: dict[Path, StoredArtifact] = {}
        self._reading: dict[str, list[Path]] = {}

    def plan(self, node: Node, checked: CheckedNode, made: Mapping[str, Mapping[str, StoredArtifact]]) -> StepPlan:
        """Also reads the log, as another machine may have run the step meanwhile."""
        self._remote.refresh()
        plan = super().plan(node, checked, made)
        self._newest[plan.key] = self._newest_output(plan.key)
        return plan

    def claim(self, plan: StepPlan) -> str | None:
        """Takes the lease of a step."""
        leases = self._remote.leases()
        lease = leases.claim(plan.key, plan.node.name, [*map(place_of, plan.present_inputs().values())])
        if lease is not None:
            return f"run {lease.run} ({lease.owner.partition('/')[0]}) is running it; waiting for its result"
        self._remote.refresh()
        if self._newest_output(plan.key) != self._newest[plan.key]:
            leases.release(plan.key)
            return "another machine has just run it"
        return None

    @contextlib.contextmanager
    def launch(self, plan: StepPlan, watcher: Watcher) -> Iterator[LaunchedStep]:
        """Pulls the inputs first, and gives the lease back at the end.

        Raises:
            InputError: an input is missing or damaged at the address, and the next run makes it again; or the disk is
                full.
        """
        inputs = [self._root / str(stored.path) for stored in plan.present_inputs().values()]
        try:
            self._reading[plan.key] = inputs
            # Other processes must not remove what this one reads.
            held = cache_locked(self._root, is_alone=False) if self._is_shared else contextlib.nullcontext()
            with held:
                for stored in plan.present_inputs().values():
                    if not self._remote.pull(stored):
                        self._remote.forget([str(stored.path)])
                        raise self._damaged(stored)
                with super().launch(plan, watcher) as launched:
                    yield launched
        finally:
            self._reading.pop(plan.key, None)
            self._remote.leases().release(plan.key)
            # Beside other processes, the last one removes artifacts above the limit of the cache.
            alone = cache_locked(self._root, is_alone=True) if self._is_shared else contextlib.nullcontext(True)
            with alone as is_alone:
                if is_alone:
                    folders = [folder for inputs in self._reading.values() for folder in inputs]
                    evict(self._root, self._root / ARTIFACTS, folders)

    def fetch(self, artifact: Artifact) -> None:
        """Downloads an artifact that this run made or reused, unless it is in the mirror; also after the run's end.

        Raises:
            InputError: it is missing or damaged at the address.
        """
        stored = self._published.get(artifact.path)
        if stored is not None and not self._remote.pull(stored):
            raise self._damaged(stored)

    def read_json(self, artifact: Artifact, name: str) -> Any:
        """Reads the file at the address, unless the artifact is in the mirror; also after the run's end.

        Raises:
            InputError: it is missing at the address.
        """
        stored = self._published.get(artifact.path)
        if stored is None or artifact.file(name).is_file():
            return super().read_json(artifact, name)
        content = self._remote.objects.read(f"{place_of(stored)}/{name}")
        if content is None:
            raise self._damaged(stored)
        return json.loads(content)

    def output(self, node: Node, name: str, stored: StoredArtifact) -> Artifact:
        """A stored artifact; `fetch` downloads it."""
        artifact = super().output(node, name, stored)
        self._published[artifact.path] = stored
        return artifact

    def _is_intact(self, node: Node, name: str, stored: StoredArtifact) -> bool:
        """Whether the address has an artifact; only one that checks more than its own files is downloaded for that."""
        if stored.path is None or not self._remote.holds(stored):
            return False
        checks_more = type(super().output(node, name, stored)).is_intact is not Artifact.is_intact
        return not checks_more or (self._remote.pull(stored) and super()._is_intact(node, name, stored))

    def _damaged(self, stored: StoredArtifact) -> InputError:
        place = f"{self._remote.objects.address}/{place_of(stored)}"
        return InputError(f"{place} must be intact, and is damaged or missing; run again: its step makes it again")

    def _newest_output(self, key: str) -> int:
        """The highest number of an output of a key; 0 if none is there."""
        return max((stored.id for stored in (self._store.find(key) or {}).values()), default=0)
