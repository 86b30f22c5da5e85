"""Machines that share a root in the memory of this process."""

import pytest

from components.objects.mirror import CACHE_VARIABLE
from plugins.remote_roots.mirror import open_mirror
from plugins.remote_roots.roots import ObjectStorageRoots
from tests.components.objects.memory import ADDRESS, memory
from tests.pipeline.orchestrator.stand_in_roots import register_roots

__all__ = ["memory"]


@pytest.fixture(autouse=True)
def roots_in_memory(monkeypatch):
    """Registers the roots of addresses in memory."""
    register_roots(monkeypatch, ObjectStorageRoots)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Name of a machine -> its mirror of the root."""

    def mirror(name):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / name))
        return open_mirror(ADDRESS)

    return mirror
