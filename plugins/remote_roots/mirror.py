"""Opens the mirror of a remote root: a local folder of its address, and the format of the remote side."""

import contextlib
import hashlib
import json
import os
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

from components.dsl.errors import InputError
from components.dsl.locks import lock_file
from components.objects.mirror import REMOTE_FILE, cache_folder
from components.objects.store import ObjectStore
from pipeline.orchestrator.locks import open_lock

FORMAT_FILE = "format.json"
FORMAT_VERSION = 2
"""Changes with the layout of the objects; a root with another version is refused."""

_ROOTS = "roots"


def open_mirror(address: str) -> Path:
    """The local folder of an address, which is made if necessary."""
    store = ObjectStore(address, tries=2)
    check_format(store)
    root = cache_folder() / _ROOTS / hashlib.sha256(store.address.encode()).hexdigest()[:32]
    root.mkdir(parents=True, exist_ok=True)
    file = root / REMOTE_FILE
    if not file.is_file():
        staging = root.with_name(f".{root.name}-{uuid.uuid4().hex}")
        # Two machines never share a name, even if one has a copy of the other's cache.
        staging.write_text(json.dumps({"address": store.address, "mirror": uuid.uuid4().hex}) + "\n")
        # Of processes that make the mirror at once, all keep the name of the first.
        try:
            os.link(staging, file)
        except OSError:
            if not file.exists():  # the file system has no links
                os.replace(staging, file)
        staging.unlink(missing_ok=True)
    return root


def owner_of(root: Path) -> str:
    """The name of a mirror in leases and in the log: its machine and a random number."""
    return f"{socket.gethostname()}/{json.loads((root / REMOTE_FILE).read_text())['mirror']}"


def check_format(store: ObjectStore, *, create: bool = False) -> bool:
    """Checks the format of a remote root; returns whether there is a root."""
    content = store.read_json(FORMAT_FILE)
    if content is None:
        others = store.children()
        if others:
            raise InputError(
                f"root must be a new or empty place, or one of an earlier run, got {store.address}: it holds "
                f"{others[0]}"
            )
        if not create:
            return False
        content = {"format": FORMAT_VERSION}
        # Of two machines that make the root at once, the second checks the format of the first.
        if not store.create_json(FORMAT_FILE, content):
            content = store.read_json(FORMAT_FILE) or {}
    version = content.get("format") if isinstance(content, dict) else content
    if version != FORMAT_VERSION:
        raise InputError(
            f"root must have format {FORMAT_VERSION}, got format {version} in {store.address}; use another root, or "
            "the release that made it"
        )
    return True


@contextlib.contextmanager
def cache_locked(root: Path, *, is_alone: bool) -> Iterator[bool]:
    """Shares the artifacts of a mirror with other steps, so that none removes what another reads.

    A process that removes artifacts needs an exclusive lock (`is_alone`). It does not wait for the lock; the block gets
    True if it has the lock.
    """
    with open_lock(root, "cache") as lock:
        if is_alone:
            yield lock_file(lock, without_locks=False)
        else:
            lock_file(lock, is_shared=True, wait=True)
            yield False
