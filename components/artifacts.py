"""Artifacts: typed directories whose `manifest.json` says what they hold and what made them."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, ClassVar

MANIFEST = "manifest.json"


def sync(path: Path) -> None:
    """Waits until a file, or the list of a folder's entries, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Artifact:
    """A directory of files of a known type.

    While a step runs, an output is an empty directory to write into; `seal` then describes it, and
    from there on it is never written again.

    Attributes:
        path: the directory.
        counts: what the step wants to be known of the content (`documents=120`), kept in the manifest.
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

    def manifest(self) -> dict[str, Any]:
        """What `seal` wrote.

        Raises:
            FileNotFoundError: the directory is no finished artifact.
            TypeError: it holds an artifact of another type or of another format version.
        """
        path = self.file(MANIFEST)
        if not path.is_file():
            raise FileNotFoundError(f"{self.path} is not a {type(self).__name__}: it has no {MANIFEST}")
        manifest: dict[str, Any] = json.loads(path.read_text())
        wanted = (type(self).__name__, self.format_version)
        if (manifest["type"], manifest["format_version"]) != wanted:
            raise TypeError(
                f"{self.path} holds a {manifest['type']} of format {manifest['format_version']}, "
                f"wanted a {wanted[0]} of format {wanted[1]}"
            )
        return manifest

    def fingerprint(self) -> str:
        """The digest of the content, as `seal` recorded it."""
        return str(self.manifest()["fingerprint"])

    def is_intact(self) -> bool:
        """Whether the content is still what `seal` saw.

        Cheap: compares sizes, and reads content only where a file was written after the manifest.
        """
        try:
            manifest = self.manifest()
            sealed = self.file(MANIFEST).stat().st_mtime_ns
            states = {name: self.file(name).stat() for name in manifest["files"]}
            if any(states[name].st_size != size for name, size in manifest["files"].items()):
                return False
            if all(state.st_mtime_ns <= sealed for state in states.values()):
                return True
            return bool(self._digest(self._names()) == manifest["fingerprint"])
        except (OSError, TypeError, KeyError, AttributeError, ValueError):
            return False

    def seal(self, parameters: dict[str, Any]) -> str:
        """Writes the manifest of a finished directory and returns its fingerprint.

        The fingerprint covers names and bytes of all files but the manifest, so that two artifacts
        with the same content are the same to every later step, whatever made them.
        """
        names = self._names()
        fingerprint = self._digest(names)
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
        files = (file for file in self.path.rglob("*") if file.is_file() and file != self.file(MANIFEST))
        return sorted(file.relative_to(self.path).as_posix() for file in files)

    def _digest(self, names: list[str]) -> str:
        digest = hashlib.sha256(f"{type(self).__name__}/{self.format_version}".encode())
        for name in names:
            with self.file(name).open("rb") as stream:
                digest.update(f"\0{name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}".encode())
        return digest.hexdigest()


class Corpus(Artifact):
    """Documents as gzip shards of JSON lines, `corpus-00000-of-00004.jsonl.gz`: {"id": ..., "text": ...}.

    Parts of a long document say of which (`whole`), and `cut_documents.json` counts them. What was left out stands in
    `dropped-*.jsonl.gz`, with the reason; `statistics.json` counts both.
    """


class Vocabulary(Artifact):
    """`vocab.txt`, one piece a line, and `tokenizer.json`: {"lowercase": true}."""


class PretrainingExamples(Artifact):
    """Rows to pre-train on: `{split}-{length}-*.tfrecord`, `features.json` and `statistics.json`.

    Rows are masked, or `features.json` says how to mask them anew each epoch.
    """


class TaskExamples(Artifact):
    """Labelled rows: `train.tfrecord`, `validation.tfrecord`, `test.tfrecord`, `features.json`, `labels.json`.

    Regression and questions have no labels; `{split}.jsonl.gz` holds the originals of tagged words and questions.
    """


class Model(Artifact):
    """`model.keras`, the tokenizer's files beside it, and `task.json` (what the model was trained for)."""


class Scores(Artifact):
    """`scores.json`: what the models of several seeds reach on validation and test rows; `histories.jsonl`."""


class EdgeModel(Artifact):
    """`model.tflite` (int8), `model_float32.tflite`, `model.onnx`, vocabulary, `labels.json`, `recipe.json`."""


class Evaluation(Artifact):
    """`metrics.json`: one row a model, with accuracy, macro F1, confusion, size and latency."""


class Blessing(Artifact):
    """`blessing.json`: {"blessed": true, "reasons": [...]}."""


class Pushed(Artifact):
    """`pushed.json`: where a blessed model was pushed to, and as which version."""

    def location(self) -> Path:
        """The versioned folder that the push made."""
        return Path(json.loads(self.file("pushed.json").read_text())["path"])

    def is_intact(self) -> bool:
        """Also asks whether the pushed files are still where they were put."""
        if not super().is_intact():
            return False
        names = json.loads(self.file("pushed.json").read_text())["files"]
        return all((self.location() / name).is_file() for name in names)
