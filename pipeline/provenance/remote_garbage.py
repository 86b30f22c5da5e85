"""Garbage collection of a root in object storage, beside runs of other machines."""

import shutil
from pathlib import Path

from components.dsl.artifact import MANIFEST
from pipeline.orchestrator.records import StoredArtifact
from pipeline.orchestrator.remote_store import RemoteStore, place_of
from pipeline.orchestrator.root import ARTIFACTS
from pipeline.provenance.garbage import Garbage, Spared, find_garbage
from pipeline.provenance.lineage import pull_pushed
from pipeline.remote.leases import leased_inputs, live_runs


def find_remote_garbage(store: RemoteStore, root: Path, keep: int) -> Garbage:
    """Finds artifacts at the address, and logs of this machine, that nothing needs.

    Runs that had a heartbeat within a day, what they made or reused, and what their steps read, are needed. Artifacts
    that were uploaded but never recorded, as their runs were killed, are garbage.

    Args:
        store: the store of the mirror.
        root: the mirror.
        keep: see `find_garbage`.
    """
    stored = [published.artifact for published in store.artifacts()]
    pull_pushed(store, stored)
    alive = live_runs(store.objects)
    leased = set(leased_inputs(store.objects, alive))
    spared = Spared(frozenset(alive), frozenset(artifact.id for artifact in stored if place_of(artifact) in leased))
    garbage = find_garbage(store, root, keep, spared)
    places = {str(artifact.path): artifact for artifact in stored}
    sizes = {path: store.size(places[path]) for path in garbage.artifacts}
    return garbage._replace(artifacts=sizes | _unrecorded(store, stored, alive))


def remove_remote_garbage(store: RemoteStore, root: Path, garbage: Garbage) -> None:
    """Removes garbage: first from the log, then at the address and in the mirror.

    Args:
        store: the store of the mirror, which the caller has locked.
        root: the mirror.
        garbage: the result of `find_remote_garbage`.
    """
    stored = {str(published.artifact.path): published.artifact for published in store.artifacts()}
    store.forget(path for path in garbage.artifacts if path in stored)
    for path in garbage.artifacts:
        place = place_of(stored[path]) if path in stored else path
        names = store.objects.find_all(place)
        # Without its manifest the rest is no artifact.
        store.objects.remove(sorted(names, key=lambda name: not name.endswith(f"/{MANIFEST}")))
        if path in stored:
            shutil.rmtree(root / path, ignore_errors=True)
    for path in garbage.logs:
        shutil.rmtree(root / path, ignore_errors=True)


def _unrecorded(store: RemoteStore, stored: list[StoredArtifact], alive: set[int]) -> dict[str, int]:
    """Size of each place of artifacts that no entry of the log names, made by runs that have ended."""
    recorded = {place_of(artifact) for artifact in stored}
    sizes: dict[str, int] = {}
    for name, state in store.objects.find_all(ARTIFACTS).items():
        place = "/".join(name.split("/")[:4])
        if place not in recorded and int(place.rpartition("/")[2]) not in alive:
            sizes[place] = sizes.get(place, 0) + state.size
    return sizes
