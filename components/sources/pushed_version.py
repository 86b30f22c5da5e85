"""The version that a model is compared with before it is pushed: the newest one of the folder it goes to."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from components.dsl.artifact import list_files
from components.files.paths import file_digest
from components.objects.mirror import address_of
from components.objects.versions import RemoteVersions

ORIGIN_FILE = "origin.json"
CARD_FILE = "README.md"


def list_versions(folder: Path) -> list[int]:
    """The numbers of the versions in a folder, lowest first; none where there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal() and entry.is_dir())


def version_exists(folder: Path) -> bool:
    """Whether a version is there, on this machine or in object storage."""
    address = address_of(folder.parent)
    return folder.is_dir() if address is None else bool(RemoteVersions(address).marker(int(folder.name)))


@dataclasses.dataclass(frozen=True)
class PushedVersion:
    """A version that was pushed, from this root or another one."""

    path: str

    @property
    def name(self) -> str:
        """The model's name and the number, which stay when the root is moved."""
        place = Path(self.path)
        return f"{place.parent.name}/{place.name}"

    def fetch(self) -> Path:
        """Its folder, downloaded if it lies in object storage."""
        place = Path(self.path)
        versions = self._versions()
        if versions is not None:
            versions.download(int(place.name), place)
        return place

    def _versions(self) -> RemoteVersions | None:
        """The versions in object storage that it is one of; None for a local one."""
        address = address_of(Path(self.path).parent)
        return None if address is None else RemoteVersions(address)

    def fingerprint(self) -> str:
        """The digest of its name and of its files but the card, which people may edit; a root may be moved."""
        versions = self._versions()
        if versions is not None:
            return _digest({"": self.name, **versions.marker(int(Path(self.path).name)).get("files", {})})
        files = {name: file_digest(f"{self.path}/{name}") for name in list_files(Path(self.path)) if name != CARD_FILE}
        return _digest({"": self.name, **files})

    def digests(self) -> dict[str, str]:
        """The version's name -> its fingerprint."""
        return {self.name: self.fingerprint()}


@dataclasses.dataclass(frozen=True)
class PreviousVersion:
    """The newest version of a folder that was not made of a step's `edges`, or None.

    A repeated run skips the version that it pushed itself, and is compared with the same version as before.
    """

    folder: str

    def look_up(self, inputs: Mapping[str, str | None]) -> PushedVersion | None:
        """The version, given the fingerprints of the step's inputs by their names."""
        edges = {fingerprint for name, fingerprint in inputs.items() if name.startswith("edges[")}
        address = address_of(Path(self.folder))
        versions = None if address is None else RemoteVersions(address)
        numbers = list_versions(Path(self.folder)) if versions is None else versions.numbers()
        for number in reversed(numbers):
            version = Path(self.folder, str(number))
            edge = edge_of(version) if versions is None else versions.marker(number)["origin"].get("edge_model", "")
            if edge not in edges:
                return PushedVersion(str(version))
        return None


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


def edge_of(version: Path) -> str:
    """The fingerprint of the exported files that a version was copied from; empty where it does not say."""
    try:
        return str(json.loads((version / ORIGIN_FILE).read_text())["edge_model"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
