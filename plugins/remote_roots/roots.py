"""Roots in object storage, as the pipeline meets them."""

import shutil
from pathlib import Path

from components.dsl.artifact import MANIFEST
from components.objects.store import ObjectStore, number_of
from pipeline.orchestrator.opening import RemoteRoots
from pipeline.orchestrator.records import ARTIFACTS, Garbage
from pipeline.orchestrator.root_store import RootStore
from pipeline.provenance.garbage import Spared, find_garbage
from pipeline.provenance.lineage import pull_pushed
from plugins.remote_roots.leases import leased_inputs, live_runs
from plugins.remote_roots.mirror import check_format, open_mirror
from plugins.remote_roots.store import RemoteStore, place_of


class ObjectStorageRoots(RemoteRoots):
    """Roots below an address of object storage, as `s3://bucket/prefix`."""

    def open_mirror(self, address: str) -> Path:
        return open_mirror(address)

    def holds_root(self, address: str) -> bool:
        """Whether a run has written to an address; raises InputError if it holds something else."""
        return check_format(ObjectStore(address, tries=2))

    def open_store(self, root: Path, *, create: bool, is_shared: bool) -> RemoteStore:
        return RemoteStore(root, create=create, is_shared=is_shared)

    def find_garbage(self, store: RootStore, root: Path, keep: int) -> Garbage:
        """Finds artifacts at the address, and logs of this machine, that nothing needs.

        Runs that had a heartbeat within a day, what they made or reused, and what their steps read, are needed.
        Artifacts that were uploaded but never recorded, as their runs were killed, are garbage.
        The result has them by their names in the root, see `place_of`.
        """
        assert isinstance(store, RemoteStore)
        newest = store.newest_log()
        # The bytes of each artifact at the address, recorded or not, by its name in the root.
        sizes: dict[str, int] = {}
        for name, state in store.objects.find_all(ARTIFACTS).items():
            place = "/".join(name.split("/")[:4])
            sizes[place] = sizes.get(place, 0) + state.size
        alive = live_runs(store.objects)
        leased = set(leased_inputs(store.objects, alive))
        # The log is read last: what a run had published before it ended, or was killed, is known then.
        store.refresh()

        def has_ended(log: int | None) -> bool:
            return log is not None and log <= newest and log not in alive

        stored = {place_of(published.artifact): published.artifact for published in store.artifacts()}
        pull_pushed(store, [*stored.values()])
        runs = frozenset(run.id for run in store.runs() if not has_ended(run.id))
        spared = {stored[place].id for place in stored if place in leased or not has_ended(number_of(place))}
        garbage = find_garbage(store, root, keep, Spared(runs, frozenset(spared)))
        places = [place for place in stored if stored[place].path in garbage.artifacts]
        places += [place for place in sizes if place not in stored and has_ended(number_of(place))]
        return garbage._replace(artifacts={place: sizes.get(place, 0) for place in places})

    def remove_garbage(self, store: RootStore, root: Path, garbage: Garbage) -> None:
        """Removes garbage: first from the log, then at the address and in the mirror."""
        assert isinstance(store, RemoteStore)
        stored = {place_of(published.artifact): str(published.artifact.path) for published in store.artifacts()}
        paths = [stored[place] for place in garbage.artifacts if place in stored]
        store.forget(paths)
        for place in garbage.artifacts:
            # Without its manifest the rest is not an artifact.
            store.objects.remove(
                sorted(store.objects.find_all(place), key=lambda name: not name.endswith(f"/{MANIFEST}"))
            )
        for path in (*paths, *garbage.logs):
            shutil.rmtree(root / path, ignore_errors=True)
