"""Files attached to a model's file: its tokenizer, task settings and metrics.

A `.tflite` file has them in a zip archive after the model, as LiteRT's metadata has its associated files, and `unzip`
opens it; an `.onnx` file has them as metadata entries; a SavedModel, given its `saved_model.pb`, in the folder
`assets.extra` beside it. Runtimes ignore all of them. Nothing is attached to the format of a plug-in.

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

from keras_bert.core.folders import ATTACHMENTS_FOLDER, SAVED_MODEL_FILE
from keras_bert.export.files import find_opener, list_parts

DIGEST_FILE = "digest.json"
# The entry `sums.N` has the digests of the files attached with it. A zip archive has checksums of its own.
_SUMS = "sums."
# The most bytes of all attached files together: the tokenizer of a vocabulary of 250,000 tokens has 17 MB.
_MOST_BYTES = 1 << 28

# A fixed date, the earliest in a zip archive, so that equal files give equal bytes.
_DAY = (1980, 1, 1, 0, 0, 0)


def attach_entries(path: str | os.PathLike[str], files: Mapping[str, bytes], *, stored: bool = False) -> None:
    """Attaches files, contents by name (UTF-8 in an `.onnx` file), to a model's file; its outputs do not change.

    With `stored`, files in a `.tflite` file are not compressed; if earlier files are stored so, later files are, too.
    """
    path = Path(path)
    attached = read_attachments(path)
    repeated = files.keys() & attached.keys()
    if repeated:
        raise ValueError(f"files attached to {path} must have distinct names, got {', '.join(sorted(repeated))} twice")
    if DIGEST_FILE not in attached:
        # The size and the digest of the model, without the attached files.
        size = sum(part.stat().st_size for part in _digested(path))
        if path.suffix == ".tflite" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                size = archive.start_dir  # zipfile moves the archive's directory to the end of the new files
        files = {DIGEST_FILE: json.dumps({"bytes": size, "sha256": _digest(path, size)}).encode(), **files}
    if files and path.suffix != ".tflite":
        sums = "".join(f"{hashlib.sha256(content).hexdigest()} {name}\n" for name, content in files.items())
        files = {**files, f"{_SUMS}{len(attached)}": sums.encode()}
    if path.name == SAVED_MODEL_FILE:
        folder = path.parent / ATTACHMENTS_FOLDER
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return
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
    """Checks that the model in a file has the digest that is attached to the file."""
    path = Path(path)
    attached = read_attachments(path)
    if DIGEST_FILE not in attached:
        raise ValueError(f"{path} must hold a {DIGEST_FILE} of its model, as every exported file does; got none")
    try:
        content = json.loads(attached[DIGEST_FILE])
        size, digest = int(content["bytes"]), content["sha256"]
    except (KeyError, TypeError, ValueError):
        got = attached[DIGEST_FILE]
        raise ValueError(f"{path} must hold a {DIGEST_FILE} of bytes and sha256, got {got!r}") from None
    if _digest(path, size) != digest:
        raise ValueError(f"{path} must hold the model that was exported, but its first {size} bytes have changed")


def read_attachments(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """Reads the files that are attached to a model's file; returns their contents by name."""
    attached = _read_entries(Path(path))
    for entry in [name for name in attached if name.startswith(_SUMS)]:
        for line in attached.pop(entry).decode(errors="replace").splitlines():
            digest, _, name = line.partition(" ")
            if hashlib.sha256(attached.get(name, b"")).hexdigest() != digest:
                raise ValueError(f"the file {name!r} attached to {path} must be as it was exported, but has changed")
    return attached


def _read_entries(path: Path) -> dict[str, bytes]:
    if path.suffix == ".onnx":
        import onnx
        from google.protobuf.message import DecodeError

        try:
            model = onnx.load_model(path, load_external_data=False)
        except DecodeError as error:
            raise ValueError(f"{path} must be an .onnx file: {error}") from None
        # Protobuf returns text that is not UTF-8 as bytes.
        if any(isinstance(text, bytes) for entry in model.metadata_props for text in (entry.key, entry.value)):
            raise ValueError(f"the files attached to {path} must be UTF-8, got other bytes")
        return {entry.key: entry.value.encode() for entry in model.metadata_props}
    if path.name == SAVED_MODEL_FILE:
        attached = sorted((path.parent / ATTACHMENTS_FOLDER).glob("*"))
        _check_size(path, sum(file.stat().st_size for file in attached))
        return {file.name: file.read_bytes() for file in attached}
    if path.suffix != ".tflite":
        if find_opener(path) is None:
            raise ValueError(
                f"{path} must be a .tflite or .onnx file, or a {SAVED_MODEL_FILE}; no plug-in that is installed opens "
                f"other files of this name"
            )
        return {}
    if not zipfile.is_zipfile(path):
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(path, sum(entry.file_size for entry in archive.infolist()))
            return {entry.filename: _read_entry(archive, entry) for entry in archive.infolist()}
    # The last three: damaged bytes may mean an unknown compression method, a password or a negative offset.
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, OSError) as error:
        raise ValueError(f"the files attached to {path} are damaged: {error}") from None


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The content of an entry; `ZipFile.read` would decompress more than the size that the entry declares."""
    with archive.open(entry) as stream:
        return stream.read(entry.file_size)


def _check_size(path: Path, size: int) -> None:
    if size > _MOST_BYTES:
        raise ValueError(f"the files attached to {path} must have at most {_MOST_BYTES} bytes, got {size}")


def _digested(path: Path) -> list[Path]:
    """The files with the graph and the weights of a model; the calibration of a SavedModel may be set later."""
    return [part for part in list_parts(path) if part == path or part.parent.name == "variables"]


def _digest(path: Path, size: int) -> str:
    """The digest of the first bytes of a model."""
    digest = hashlib.sha256()
    for part in _digested(path):
        with part.open("rb") as stream:
            content = stream.read(max(0, size))
        digest.update(content)
        size -= len(content)
    return digest.hexdigest()
