"""Pushed versions in object storage: numbers are claimed, files uploaded, and a marker written last."""

import hashlib
import json
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.dsl.artifact import holds_files, list_files
from components.dsl.locks import folder_locked
from components.objects.store import ObjectStore

MARKER = ".complete.json"
_CLAIMS = ".claims"


class RemoteVersions:
    """The versions 1, 2, 3, ... below an address. A version without its marker is not complete and does not count."""

    def __init__(self, address: str) -> None:
        self._store = ObjectStore(address)

    def numbers(self) -> list[int]:
        """The numbers of complete versions, lowest first."""
        return [number for number in self._store.numbers() if self._store.state(f"{number}/{MARKER}") is not None]

    def marker(self, number: int) -> dict[str, Any]:
        """The marker of a version: the digests of its `files` but the card, and its `origin`; empty without one."""
        content: dict[str, Any] | None = self._store.read_json(f"{number}/{MARKER}")
        return content or {}

    def holds(self, number: int, digests: Mapping[str, str]) -> bool:
        """Whether a version is complete and was pushed with these files, and all of them are there."""
        files = self.marker(number).get("files", {})
        names = self._store.find_all(str(number))
        return all(files.get(name) == digest and f"{number}/{name}" in names for name, digest in digests.items())

    def claim(self, digests: Mapping[str, str]) -> int:
        """The number for these files: the last number if it was claimed for the same files, else the next number.

        So a push that was killed goes on with its number, and two machines that push the same files write the same.
        """
        content = hashlib.sha256(json.dumps(dict(digests), sort_keys=True).encode()).hexdigest()
        number = max(self._store.numbers(_CLAIMS), default=0)
        while True:
            claim = self._store.read_json(f"{_CLAIMS}/{number}") if number else None
            if claim is not None and claim["files"] == content:
                return number
            number += 1
            if self._store.create_json(f"{_CLAIMS}/{number}", {"files": content, "claim": uuid.uuid4().hex}):
                return number

    def upload(self, folder: Path, number: int, digests: Mapping[str, str], origin: Mapping[str, str]) -> None:
        """Uploads a version, its marker last."""
        for name in list_files(folder):
            self._store.upload(folder / name, f"{number}/{name}")
        self._store.write(f"{number}/{MARKER}", json.dumps({"files": dict(digests), "origin": dict(origin)}).encode())

    def download(self, number: int, folder: Path) -> None:
        """Downloads a version into a folder, unless the folder holds its files already."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Of processes that read the same version, one downloads it.
        with folder_locked(folder.parent):
            digests = self.marker(number).get("files", {})
            if digests and holds_files(folder, digests):
                return
            staging = folder.with_name(f".download-{uuid.uuid4().hex}")
            try:
                for name in self._store.find_all(str(number)):
                    self._store.download(name, staging / name.partition("/")[2])
                shutil.rmtree(folder, ignore_errors=True)
                staging.rename(folder)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
