"""Machines that share a root in the memory of this process: fsspec's memory file system creates exclusively."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.objects import store
from components.objects.mirror import CACHE_VARIABLE
from pipeline.remote.mirror import open_mirror

ADDRESS = "memory://bucket/root"


def put_raw(name: str, content: bytes) -> None:
    """Writes an object of any name to the root, as other programs can."""
    from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

    path = f"/{ADDRESS.partition('://')[2]}/{name}"
    MemoryFileSystem.store[path] = MemoryFile(MemoryFileSystem(), path, content)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[store.ObjectStore]:
    """An empty root."""
    from fsspec.implementations.memory import MemoryFileSystem

    monkeypatch.setitem(store.EXTRAS, "memory", "memory")
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield store.ObjectStore(ADDRESS)
    MemoryFileSystem.store.clear()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Name of a machine -> its mirror of the root."""

    def mirror(name: str) -> Path:
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / name))
        return open_mirror(ADDRESS)

    return mirror
