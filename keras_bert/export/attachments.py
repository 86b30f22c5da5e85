"""Files attached to a model's file: its tokenizer, task settings and metrics.

In a `.tflite` file they are in a zip archive behind the model, like the associated files of LiteRT's metadata, and
`unzip` opens it; in an `.onnx` file they are metadata entries. Runtimes ignore both.

The first attached file is a digest of the model: a runtime that opens a damaged model may end the process, or give
wrong outputs without an error (docs/decisions/0029-model-files-hold-a-digest.md).
"""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

DIGEST_FILE = "digest.json"

# A fixed date, the first that a zip archive can hold, so that equal files give equal bytes.
_DAY = (1980, 1, 1, 0, 0, 0)


def attach_entries(path: str | os.PathLike[str], files: Mapping[str, bytes], *, stored: bool = False) -> None:
    """Attaches files to a model's file; the model's answers do not change.

    Args:
        path: a `.tflite` or `.onnx` file.
        files: the contents by name; UTF-8 for an `.onnx` file.
        stored: whether files in a `.tflite` file are stored without compression; files that are added to an archive
            with stored files are stored as well.

    Raises:
        ValueError: a file of this name is attached already, or `path` is no `.tflite` or `.onnx` file.
    """
    path = Path(path)
    held = read_attachments(path)
    repeated = files.keys() & held.keys()
    if repeated:
        raise ValueError(f"{path} must not hold what is attached to it, got {', '.join(sorted(repeated))} again")
    if DIGEST_FILE not in held:
        files = {DIGEST_FILE: _describe_model(path), **files}
    if path.suffix == ".onnx":
        import onnx

        entries = [onnx.StringStringEntryProto(key=name, value=content.decode()) for name, content in files.items()]
        # Protobuf reads concatenated messages as one message and joins their lists.
        with path.open("ab") as stream:
            stream.write(onnx.ModelProto(metadata_props=entries).SerializeToString(deterministic=True))
        return
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        # MediaPipe cannot open an archive with compressed files.
        stored = stored or any(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _DAY)
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def check_integrity(path: str | os.PathLike[str]) -> None:
    """Compares the model in a file with the digest that was attached to it.

    Raises:
        ValueError: the model has changed, or the file holds no digest; see also `read_attachments`.
    """
    path = Path(path)
    held = read_attachments(path)
    if DIGEST_FILE not in held:
        raise ValueError(
            f"{path} must hold a {DIGEST_FILE} of its model, as all that is exported here does; found none"
        )
    try:
        said = json.loads(held[DIGEST_FILE])
        size, digest = int(said["bytes"]), said["sha256"]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} must hold a {DIGEST_FILE} of bytes and sha256, got {held[DIGEST_FILE]!r}") from None
    if _digest(path, size) != digest:
        raise ValueError(f"{path} must hold the model that was exported, but its first {size} bytes have changed")


def read_attachments(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """Reads the files that are attached to a model's file; returns their contents by name.

    Raises:
        ValueError: it is no `.tflite` or `.onnx` file, or the attached files are damaged.
    """
    path = Path(path)
    if path.suffix == ".onnx":
        import onnx
        from google.protobuf.message import DecodeError

        try:
            model = onnx.load_model(path, load_external_data=False)
        except DecodeError as error:
            raise ValueError(f"{path} must be an .onnx file: {error}") from None
        # Protobuf returns text that is not UTF-8 as bytes.
        if any(isinstance(text, bytes) for entry in model.metadata_props for text in (entry.key, entry.value)):
            raise ValueError(f"what is attached to {path} must be UTF-8, got other bytes")
        return {entry.key: entry.value.encode() for entry in model.metadata_props}
    if path.suffix != ".tflite":
        raise ValueError(f"{path} must be a .tflite or .onnx file")
    if not zipfile.is_zipfile(path):
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    # The last three: damaged bytes read as an unknown compression method, a password or a negative offset.
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, OSError) as error:
        raise ValueError(f"what is attached to {path} is damaged: {error}") from None


def _describe_model(path: Path) -> bytes:
    """Digests the part of a file that attaching does not change."""
    size = path.stat().st_size
    if path.suffix != ".onnx" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            size = archive.start_dir  # zipfile rewrites the directory of the archive behind the new files
    return json.dumps({"bytes": size, "sha256": _digest(path, size)}).encode()


def _digest(path: Path, size: int) -> str:
    with path.open("rb") as stream:
        return hashlib.sha256(stream.read(max(0, size))).hexdigest()
