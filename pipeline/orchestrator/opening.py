"""Opens the store of a root: a folder of this machine, or an address that a plug-in opens by its scheme."""

import abc
from pathlib import Path

from components.dsl.errors import InputError
from components.objects.mirror import root_address
from keras_bert.core.plugins import GROUP, find_plugins
from pipeline.orchestrator.records import Garbage
from pipeline.orchestrator.root_store import DATABASE, RootStore
from pipeline.orchestrator.store import Store


class RemoteRoots(abc.ABC):
    """The roots of a scheme, such as `s3://`. Each has a mirror: a folder of this machine with a file `remote.json`."""

    @abc.abstractmethod
    def open_mirror(self, address: str) -> Path:
        """The folder that mirrors an address, which is made if necessary."""

    @abc.abstractmethod
    def holds_root(self, address: str) -> bool:
        """Whether a run has written to an address; raises InputError if it holds something else."""

    @abc.abstractmethod
    def open_store(self, root: Path, *, create: bool, is_shared: bool) -> RootStore:
        """The store of a mirror, with what all machines have recorded; see `open_store`."""

    @abc.abstractmethod
    def find_garbage(self, store: RootStore, root: Path, keep: int) -> Garbage:
        """What nothing needs, beside runs of other machines; see `pipeline.provenance.garbage.find_garbage`."""

    @abc.abstractmethod
    def remove_garbage(self, store: RootStore, root: Path, garbage: Garbage) -> None:
        """Removes garbage, for all machines."""


def find_remote_roots(address: str) -> RemoteRoots:
    """The plug-in that opens an address."""
    scheme, schemes = address.partition("://")[0], find_plugins("roots")
    if scheme not in schemes:
        names = ", ".join(f"{name}://" for name in sorted(schemes)) or "none"
        raise InputError(
            f"root must be a folder, or an address of a scheme that a plug-in opens ({names}), got {address}; install "
            f"the whole of keras-bert-edge, or a package with an entry point {scheme!r} in the group '{GROUP}.roots'"
        )
    roots: RemoteRoots = schemes[scheme].load()()
    return roots


def open_store(root: Path, *, create: bool = True, is_shared: bool = False) -> RootStore:
    """The store of a root; the store of a mirror is first updated from its address.

    With `is_shared` other processes of this machine may run steps in the root at the same time.
    """
    address = root_address(root)
    if address is None:
        return Store(root, create=create)
    return find_remote_roots(address).open_store(root, create=create, is_shared=is_shared)


def has_store(root: Path) -> bool:
    """Whether a run has written to a root."""
    address = root_address(root)
    return (root / DATABASE).is_file() if address is None else find_remote_roots(address).holds_root(address)
