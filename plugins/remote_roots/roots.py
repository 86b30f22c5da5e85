"""Roots in object storage, as the pipeline meets them."""

from pathlib import Path

from components.objects.store import ObjectStore
from pipeline.orchestrator.opening import RemoteRoots
from pipeline.orchestrator.records import Garbage
from pipeline.orchestrator.root_store import RootStore
from plugins.remote_roots.garbage import find_remote_garbage, remove_remote_garbage
from plugins.remote_roots.mirror import check_format, open_mirror
from plugins.remote_roots.store import RemoteStore


class ObjectStorageRoots(RemoteRoots):
    """Roots below an address of object storage, as `s3://bucket/prefix`."""

    def open_mirror(self, address: str) -> Path:
        """The folder that mirrors an address, which is made if necessary."""
        return open_mirror(address)

    def holds_root(self, address: str) -> bool:
        """Whether a run has written to an address; raises InputError if it holds something else."""
        return check_format(ObjectStore(address, tries=2))

    def open_store(self, root: Path, *, create: bool, is_shared: bool) -> RemoteStore:
        """The store of a mirror, updated from the log at its address."""
        return RemoteStore(root, create=create, is_shared=is_shared)

    def find_garbage(self, store: RootStore, root: Path, keep: int) -> Garbage:
        """Artifacts at the address, and logs of this machine, that nothing needs."""
        assert isinstance(store, RemoteStore)
        return find_remote_garbage(store, root, keep)

    def remove_garbage(self, store: RootStore, root: Path, garbage: Garbage) -> None:
        """Removes garbage from the log, at the address and in the mirror."""
        assert isinstance(store, RemoteStore)
        remove_remote_garbage(store, root, garbage)
