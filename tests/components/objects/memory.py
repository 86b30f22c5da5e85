"""Object storage in the memory of this process: fsspec's memory file system creates exclusively."""

from collections.abc import Iterator

import pytest

from components.objects import store

ADDRESS = "memory://bucket/root"


def put_raw(name: str, content: bytes) -> None:
    """Writes an object of any name below the address, as other programs can."""
    from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

    path = f"/{ADDRESS.partition('://')[2]}/{name}"
    MemoryFileSystem.store[path] = MemoryFile(MemoryFileSystem(), path, content)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[store.ObjectStore]:
    """The objects below the address: none."""
    from fsspec.implementations.memory import MemoryFileSystem

    monkeypatch.setitem(store.EXTRAS, "memory", "memory")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield store.ObjectStore(ADDRESS)
    MemoryFileSystem.store.clear()
