"""Opens the store of a root, and makes its launcher: of this machine alone, or of the mirror of a root elsewhere.

The code for object storage is imported for a mirror only.
"""

from collections.abc import Sequence
from pathlib import Path

from components.objects.mirror import root_address
from components.objects.store import ObjectStore
from pipeline.machine import ONE_BY_ONE, Machine
from pipeline.orchestrator.chief import Chief
from pipeline.orchestrator.executor import PRELOAD
from pipeline.orchestrator.fingerprint import FIRST_PARTY
from pipeline.orchestrator.launcher import Launcher
from pipeline.orchestrator.store import DATABASE, Store


def open_store(root: Path, *, create: bool = True) -> Store:
    """The store of a root; that of a mirror is brought up to date with the log of its address.

    Raises:
        InputError: see `Store`; or the address cannot be read.
    """
    if root_address(root) is None:
        return Store(root, create=create)
    from pipeline.orchestrator.remote_store import RemoteStore

    return RemoteStore(root, create=create)


def has_store(root: Path) -> bool:
    """Whether a run has written to a root.

    Raises:
        InputError: the address of a mirror cannot be read, or holds something else.
    """
    address = root_address(root)
    if address is None:
        return (root / DATABASE).is_file()
    from pipeline.remote.mirror import check_format

    return check_format(ObjectStore(address, tries=2))


def make_launcher(
    store: Store,
    root: Path,
    run: int,
    *,
    machine: Machine = ONE_BY_ONE,
    preload: Sequence[str] = PRELOAD,
    first_party: Sequence[str] = FIRST_PARTY,
    chief: Chief | None = None,
    is_shared: bool = False,
) -> Launcher:
    """The launcher of a run.

    Args:
        store: the result of `open_store`.
        root: absolute path of the root.
        run: number of the run; 0 for a preview, which launches nothing.
        machine: see `Launcher`.
        preload: see `Launcher`.
        first_party: see `Launcher`.
        chief: see `Launcher`; None for a mirror.
        is_shared: whether other processes run steps in the root at the same time.
    """
    if root_address(root) is None:
        return Launcher(root, store, run, machine=machine, preload=preload, first_party=first_party, chief=chief)
    from pipeline.orchestrator.remote_launcher import RemoteLauncher
    from pipeline.orchestrator.remote_store import RemoteStore

    assert isinstance(store, RemoteStore)
    return RemoteLauncher(
        root, store, run, machine=machine, preload=preload, first_party=first_party, is_shared=is_shared
    )
