"""Artifacts: typed directories with a `manifest.json` that describes their content and their origin."""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

R = TypeVar("R")

MANIFEST = "manifest.json"


def content_digest(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def list_files(folder: Path) -> list[str]:
    """All files in a folder and in those below it but links, relative, sorted; none where there is no such folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(file.relative_to(folder).as_posix() for file in files)


def holds_files(folder: Path, digests: Mapping[str, str]) -> bool:
    """Whether a folder holds files of these names with these digests; other files do not matter."""
    try:
        return all(content_digest(folder / name) == digest for name, digest in digests.items())
    except OSError:
        return False


def format_json(content: Any) -> str:
    """The text of a JSON file for people."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_plain(record: Any) -> Any:
    """A record, or a container of records, as JSON values."""
    value = record._asdict() if hasattr(record, "_asdict") else record
    if isinstance(value, Mapping):
        return {name: as_plain(item) for name, item in value.items()}
    return [*map(as_plain, value)] if isinstance(value, list | tuple) else value


class Artifact:
    """A directory of files of a known type.

    While a step runs, an output is an empty directory to write into; `seal` then describes it, and
    from there on it is never written again.

    Attributes:
        counts: figures about the content (`documents=120`) that the step adds to the manifest.
    """

    format_version: ClassVar[int] = 1

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.counts: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def file(self, name: str) -> Path:
        """The path of one file of this artifact."""
        return self.path / name

    def read_json(self, name: str) -> Any:
        """The content of one JSON file of this artifact."""
        return json.loads(self.file(name).read_text(encoding="utf-8"))

    def write_json(self, name: str, content: Any) -> None:
        """Writes one JSON file of this artifact."""
        self.file(name).write_text(format_json(content), encoding="utf-8")

    def manifest(self) -> dict[str, Any]:
        """The manifest that `seal` wrote.

        Raises:
            FileNotFoundError: the directory is not a finished artifact.
            TypeError: it holds an artifact of another type or of another format version.
        """
        path = self.file(MANIFEST)
        if not path.is_file():
            raise FileNotFoundError(f"{self.path} is not a {type(self).__name__}: it has no {MANIFEST}")
        manifest: dict[str, Any] = json.loads(path.read_text())
        expected = (type(self).__name__, self.format_version)
        if (manifest["type"], manifest["format_version"]) != expected:
            raise TypeError(
                f"{self.path} holds a {manifest['type']} of format {manifest['format_version']}, "
                f"expected a {expected[0]} of format {expected[1]}"
            )
        return manifest

    def fingerprint(self) -> str:
        """The digest of the content, as `seal` recorded it."""
        return str(self.manifest()["fingerprint"])

    def read_fingerprint(self) -> str:
        """The digest of the content as it is now; all of it is read."""
        digest = hashlib.sha256(f"{type(self).__name__}/{self.format_version}".encode())
        for name in self._names():
            digest.update(f"\0{name}\0{content_digest(self.file(name))}".encode())
        return digest.hexdigest()

    def is_intact(self) -> bool:
        """Whether the content is still the one that `seal` recorded.

        Cheap: compares names and sizes, and reads content only where a file was written after the manifest, or the
        clock has been set back since.
        """
        try:
            manifest = self.manifest()
            if not manifest["fingerprint"] or self._names() != sorted(manifest["files"]):
                return False
            sealed = self.file(MANIFEST).stat().st_mtime_ns
            states = {name: self.file(name).stat() for name in manifest["files"]}
            if any(states[name].st_size != size for name, size in manifest["files"].items()):
                return False
            # A manifest from the future proves nothing: after the clock was set back, new files look older.
            if sealed <= time.time_ns() and all(state.st_mtime_ns <= sealed for state in states.values()):
                return True
            return bool(self.read_fingerprint() == manifest["fingerprint"])
        except (OSError, TypeError, KeyError, AttributeError, ValueError):
            return False

    def seal(self, parameters: dict[str, Any]) -> str:
        """Writes the manifest of a finished directory and returns its fingerprint.

        The fingerprint covers names and bytes of all files but the manifest, so that two artifacts
        with the same content are the same to every later step, whichever step made them.
        """
        names, fingerprint = self._names(), self.read_fingerprint()
        manifest = {
            "type": type(self).__name__,
            "format_version": self.format_version,
            "fingerprint": fingerprint,
            "files": {name: self.file(name).stat().st_size for name in names},
            "counts": self.counts,
            "parameters": parameters,
        }
        self.file(MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        return fingerprint

    def _names(self) -> list[str]:
        """All files but the manifest, relative, sorted."""
        return [name for name in list_files(self.path) if name != MANIFEST]


class RecordArtifact(Artifact, Generic[R]):
    """An artifact of one JSON file with a record: a `NamedTuple`, whose fields may hold others, or a container."""

    record_file: ClassVar[str]

    def write(self, record: R) -> None:
        """Writes the record."""
        self.write_json(self.record_file, as_plain(record))

    def read(self) -> R:
        """The record.

        Raises:
            OSError: there is no such file.
            ValueError: the file is not JSON, or a field is missing or unknown.
        """
        import pydantic

        (base,) = (base for base in type(self).__orig_bases__ if get_origin(base) is RecordArtifact)  # type: ignore[attr-defined]
        adapter: pydantic.TypeAdapter[R] = pydantic.TypeAdapter(get_args(base)[0])
        return adapter.validate_python(self.read_json(self.record_file))


def open_artifact(folder: Path, kind: str) -> Artifact:
    """The artifact in a folder, by the name of its type: its class need not be imported."""
    version = json.loads((folder / MANIFEST).read_text())["format_version"]
    return type(kind, (Artifact,), {"format_version": version})(folder)
