"""Opens the store of a root, and makes its launcher: of this machine alone, or of the mirror of a root elsewhere.

The code for object storage is imported for a mirror only.
"""

from pathlib import Path
from typing import Any

from components.objects.mirror import root_address
from components.objects.store import ObjectStore
from pipeline.orchestrator.launcher import Launcher
from pipeline.orchestrator.store import DATABASE, Store


def open_store(root: Path, *, create: bool = True) -> Store:
    """The store of a root; the store of a mirror is first updated from the log at its address.

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


def make_launcher(store: Store, root: Path, run: int, *, is_shared: bool = False, **options: Any) -> Launcher:
    """The launcher of a run, with options of `Launcher`; one of the number 0 is a preview, which launches nothing."""
    if root_address(root) is None:
        return Launcher(root, store, run, **options)
    from pipeline.orchestrator.remote_launcher import RemoteLauncher
    from pipeline.orchestrator.remote_store import RemoteStore

    assert isinstance(store, RemoteStore)
    return RemoteLauncher(root, store, run, is_shared=is_shared, **options)
