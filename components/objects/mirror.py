"""The local side of object storage: the cache folder, and the folders that mirror a root.

A mirror is an ordinary root with a file `remote.json` that holds the address; a path in it stands for an object of the
same relative name.
"""

import json
import os
import re
from pathlib import Path

REMOTE_FILE, ADDRESS_FILE = "remote.json", "address"
CACHE_VARIABLE = "KERAS_BERT_EDGE_CACHE"
# A commit in the hub's cache, by the names of `huggingface_hub`.
_IN_HUB_CACHE = re.compile(r"/\S*?/(models|datasets)--([^/\s]+?)--([^/\s]+)/snapshots/([0-9a-f]{40})")
_HUB_PREFIXES = {"models": "", "datasets": "datasets/"}


def cache_folder() -> Path:
    """The folder of mirrors and downloads: `$KERAS_BERT_EDGE_CACHE`, else `keras-bert-edge` in the user's cache."""
    folder = os.environ.get(CACHE_VARIABLE)
    if folder:
        return Path(folder).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "keras-bert-edge"


def root_address(root: Path) -> str | None:
    """The address that a root mirrors; None for a root that is only on this machine."""
    file = root / REMOTE_FILE
    return str(json.loads(file.read_text())["address"]) if file.is_file() else None


def address_of(place: Path) -> str | None:
    """The address of a path in a mirror; None for a path outside of mirrors."""
    for root in (place, *place.parents):
        address = root_address(root)
        if address is not None:
            return f"{address}/{place.relative_to(root).as_posix()}" if place != root else address
    return None


def display_path(place: Path) -> str:
    """A path for people: its address if it lies in a mirror or was downloaded."""
    return address_of(place) or show_addresses(str(place))


def downloads_folder() -> Path:
    """The folder of downloads: each has a folder with a file `ADDRESS_FILE`, the address of what lies beside it."""
    return cache_folder() / "downloads"


def show_addresses(text: str) -> str:
    """A text with the addresses of downloads, and of files in the hub's cache, instead of their paths."""

    def address(match: re.Match[str]) -> str:
        file = Path(match[0]) / ADDRESS_FILE
        return file.read_text(encoding="utf-8") if file.is_file() else match[0]

    text = re.sub(re.escape(f"{downloads_folder()}/") + "[0-9a-f]{32}", address, text)
    return _IN_HUB_CACHE.sub(lambda match: f"hf://{_HUB_PREFIXES[match[1]]}{match[2]}/{match[3]}@{match[4]}", text)
