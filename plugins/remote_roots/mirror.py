"""Opens the mirror of a remote root: a local folder of its address, and the format of the remote side."""

import hashlib
import json
import os
import socket
import uuid
from pathlib import Path

from components.dsl.errors import InputError
from components.objects.mirror import REMOTE_FILE, cache_folder
from components.objects.store import ObjectStore

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
