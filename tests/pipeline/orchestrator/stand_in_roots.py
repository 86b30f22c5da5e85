"""A stand-in for a plug-in of remote roots, and its registration for addresses as `memory://bucket/root`."""

import importlib.metadata
import json
from importlib.metadata import EntryPoint

from components.objects.mirror import REMOTE_FILE, cache_folder, root_address
from keras_bert.core.plugins import GROUP
from pipeline.orchestrator.opening import RemoteRoots
from pipeline.orchestrator.records import Garbage
from pipeline.orchestrator.root_store import DATABASE
from pipeline.orchestrator.store import Store

_INSTALLED = importlib.metadata.entry_points


class StandInRoots(RemoteRoots):
    """Roots whose mirror holds everything."""

    def open_mirror(self, address):
        root = cache_folder() / "root"
        root.mkdir(parents=True, exist_ok=True)
        (root / REMOTE_FILE).write_text(json.dumps({"address": address.rstrip("/")}))
        return root

    def holds_root(self, address):
        root = cache_folder() / "root"
        return root_address(root) == address and (root / DATABASE).is_file()

    def open_store(self, root, *, create, is_shared):
        return Store(root, create=create)

    def find_garbage(self, store, root, keep):
        return Garbage({f"artifacts/of/{keep}": 7}, {})

    def remove_garbage(self, store, root, garbage):
        (root / "removed.txt").write_text(" ".join(garbage.artifacts))


def register_roots(monkeypatch, roots):
    """Registers a plug-in of roots for the scheme `memory`."""
    entry = EntryPoint("memory", f"{roots.__module__}:{roots.__name__}", f"{GROUP}.roots")

    def entry_points(group):
        return (*_INSTALLED(group=group), *([entry] if group == entry.group else []))

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
