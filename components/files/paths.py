"""Finds and digests the files that a path matches, on this machine, object storage, the hub or systems of fsspec."""

import contextlib
import glob
import hashlib
import itertools
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from components.dsl.errors import InputError, nearest
from components.files.text_files import extension, find_file_system, is_remote, is_unicode
from components.objects.downloads import is_downloaded, local_file
from components.objects.hub import is_hub_address, match_hub
from components.objects.store import ObjectStore, is_object_address

# What `datasets` (Hugging Face) leaves beside the files of `save_to_disk`.
_SPLITS_FILE = "dataset_dict.json"
_OWN_FILES = (_SPLITS_FILE, "dataset_info.json", "state.json")
_CACHE = "cache-"
_MAGIC = re.compile(r"[*?\[]")
# A literal special character, as `glob.escape` writes it.
_ESCAPED = re.compile(r"\[([*?\[])\]")

# The coarsest clock of a file system that is in use (FAT).
SETTLED_NANOSECONDS = 2_000_000_000


class Stamp(NamedTuple):
    """A file's state; times in nanoseconds since the epoch.

    Attributes:
        modified: last change of the content (`st_mtime`); tools that copy files may restore an older time.
        changed: last change of content or metadata (`st_ctime`), which tools cannot set.
        inode: the inode number; it differs if a file is replaced.
    """

    modified: int
    changed: int
    inode: int
    size: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """The stamp of a file, from the result of `os.stat`."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)

    def is_settled(self) -> bool:
        """True if the next change will change the stamp; two changes within one tick of the clock have the same stamp.

        Call it before reading the file.
        """
        return time.time_ns() - self.changed > SETTLED_NANOSECONDS


# A file's path and state -> the digest of its content; several checks before a step need it.
_DIGESTS: dict[tuple[str, Stamp], str] = {}


def match_files(path: str, kinds: Sequence[str], split: str = "", *, what: str) -> list[str]:
    """The files that a path matches, sorted by name.

    Args:
        path: a file; a folder, searched to any depth for files of `kinds`, but no hidden ones; or a pattern, as
            `texts/*.txt` or `texts/**/*.jsonl.gz`. Links to folders are followed, except links to a folder above them.
            `s3://bucket/texts` and `gs://bucket/texts` are object storage, `hf://datasets/OWNER/NAME/texts` is on the
            Hugging Face hub; other schemes go to fsspec.
        kinds: the extensions to look for in a folder, without compression extensions.
        split: the split to read from a folder of Hugging Face's `DatasetDict.save_to_disk`.
        what: the setting that the path belongs to, for errors, as `the corpus`.
    """
    path = _normal(path)
    if is_hub_address(path):
        files, folder = match_hub(path)
    elif is_object_address(path):
        files, folder = _match_objects(path)
    elif is_remote(path):
        files, folder = _match_remote(path)
    else:
        files, folder = _match_local(path)
    if halves := [file for file in files if not is_unicode(file) and (not folder or extension(file) in kinds)]:
        raise InputError(f"{what} must hold files with names in UTF-8, got {min(halves)!r}; rename it")
    if not files and not folder:
        rule = "a pattern that matches a file" if _MAGIC.search(path) else "a file or a folder that exists"
        raise InputError(f"{what} must be {rule}, got {path}")
    if not folder:
        if split:
            raise InputError(f"{what} must be a folder with {_SPLITS_FILE} to have the split {split!r}, got {path}")
        return sorted(files)
    # Notebooks and systems keep copies of data in hidden files and folders, as in `.ipynb_checkpoints`.
    visible = [name for file in files if "/." not in (name := file[len(path) :])]
    names = _choose_split(path, [name[1:] for name in visible], split)
    # Other files of `datasets` are not data: descriptions, indices, and cached results of `map`.
    last = {name: name.rpartition("/")[2] for name in names if extension(name) in kinds}
    caches = {name for name in last if last[name].startswith(_CACHE) and extension(name) == ".arrow"}
    chosen = [name for name in last if last[name] not in _OWN_FILES and name not in caches]
    if not chosen:
        raise InputError(f"{what} must hold {', '.join(kinds)} files, got none in the folder {path}")
    return [f"{path}/{name}" for name in sorted(chosen)]


def short_name(file: str, path: str) -> str:
    """Returns the name of a matched file relative to `path`, which stays the same if the folder is moved."""
    path = _normal(path)
    if file.startswith(f"{path}/"):
        return file[len(path) + 1 :]
    # The part of a pattern before its first folder with a wildcard.
    parts = path.split("/")[:-1] if file != path else []
    fixed_parts = itertools.takewhile(lambda part: not _MAGIC.search(_ESCAPED.sub("", part)), parts)
    fixed = "/".join(_ESCAPED.sub(r"\1", part) for part in fixed_parts)
    return file[len(fixed) + 1 :] if fixed and file.startswith(f"{fixed}/") else file.rpartition("/")[2]


def join_pattern(folder: Path, path: str) -> str:
    """Joins a folder and a path or pattern; special characters in the folder's name are escaped."""
    expanded = Path(path).expanduser()
    if expanded.is_absolute() or not _MAGIC.search(path) or os.path.lexists(folder / expanded):
        return str(folder / expanded)
    return str(Path(glob.escape(str(folder)), expanded))


def file_digest(file: str) -> str:
    """A digest that changes with the content of a file.

    For a file on this machine, in object storage or on the hub it is the SHA-256 of its bytes, so that it does not
    depend on the address; a file that is not on this machine is first downloaded into a cache. A file of another file
    system is not read: its digest is its size and what its file system says of its state, such as the time of its last
    change.
    """
    if is_downloaded(file):
        return file_digest(str(local_file(file)))
    if is_remote(file):
        with _errors_of(file):
            system, place = find_file_system(file)
            if not system.isfile(place):
                raise InputError(f"the file {file} must exist, found nothing there")
            return f"{system.size(place)}-{system.ukey(place)}"
    try:
        stamp = Stamp.of(os.stat(file))
        is_settled, key = stamp.is_settled(), (os.path.abspath(file), stamp)
        if key in _DIGESTS:
            return _DIGESTS[key]
        with open(file, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the file {file} must be readable, got {error.strerror}") from None
    if is_settled:
        _DIGESTS[key] = digest
    return digest


def _normal(path: str) -> str:
    return path.rstrip("/") if is_remote(path) else os.path.normpath(path)


def _match_local(path: str) -> tuple[list[str], bool]:
    """The files, and whether the path is a folder."""
    if os.path.isfile(path):
        return [path], False
    if os.path.isdir(path):
        paths = (f"{folder}/{name}" for folder, names in _walk(path) for name in names)
        return [f"{path}/{file[len(path) :].lstrip('/')}" for file in paths if os.path.isfile(file)], True
    return list({os.path.normpath(file) for file in _expand(path) if os.path.isfile(file)}), False


def _walk(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Walks a folder and its subfolders, following links; yields each folder with the names of its files.

    Folders whose names begin with a dot are not entered.
    """

    def refuse(error: OSError) -> None:
        raise InputError(f"the folder {error.filename} must be readable, got {error.strerror}") from None

    above: dict[str, frozenset[str]] = {folder: frozenset()}
    for path, inner, names in os.walk(folder, followlinks=True, onerror=refuse):
        # A link to one of these folders would be followed forever.
        ancestors = above.pop(path) | {os.path.realpath(path)}
        inner[:] = [name for name in inner if not name.startswith(".")]
        inner[:] = [name for name in inner if os.path.realpath(os.path.join(path, name)) not in ancestors]
        above.update((os.path.join(path, name), ancestors) for name in inner)
        yield path, names


def _expand(pattern: str) -> Iterator[str]:
    """Expands a `glob` pattern, possibly with duplicates; `glob` itself would not stop at loops of links."""
    parts = pattern.split("/")
    if "**" not in parts:
        yield from glob.glob(pattern)
        return
    index = parts.index("**")
    head, tail = "/".join(parts[:index]), "/".join(parts[index + 1 :]) or "*"
    for root in filter(os.path.isdir, glob.glob(head or ("/" if index else "."))):
        for folder, _ in _walk(root):
            yield from _expand(f"{glob.escape(folder).rstrip('/')}/{tail}")


def _match_objects(path: str) -> tuple[list[str], bool]:
    scheme, _, bucket_and_name = path.partition("://")
    bucket, _, name = bucket_and_name.partition("/")
    store = ObjectStore(f"{scheme}://{bucket}")
    if _MAGIC.search(name):
        return [f"{store.address}/{file}" for file in store.match(name)], False
    if name and store.state(name) is not None:
        return [path], False
    files = [f"{store.address}/{file}" for file in store.find_all(name)]
    return files, bool(files)


@contextlib.contextmanager
def _errors_of(path: str) -> Iterator[None]:
    try:
        yield
    except (ImportError, OSError, ValueError) as error:
        raise InputError(f"{path} must be readable, got {' '.join(str(error).split())}") from None


def _match_remote(path: str) -> tuple[list[str], bool]:
    """The files of another file system, and whether the path is a folder."""
    is_pattern = _MAGIC.search(path) is not None
    with _errors_of(path):
        system, place = find_file_system(path)
        entries = (system.glob if is_pattern else system.find)(place, detail=True)
    # The part of an address that paths of its file system lack: the scheme, and perhaps a host.
    start = path.removesuffix(place.lstrip("/"))
    files = [start + name.lstrip("/") for name, entry in entries.items() if entry["type"] == "file"]
    return files, bool(files) and not is_pattern and files != [path]


def _choose_split(path: str, names: list[str], split: str) -> list[str]:
    if _SPLITS_FILE in names:
        splits = sorted({name.partition("/")[0] for name in names if "/" in name})
        if not split:
            raise InputError(f"the dataset folder {path} has splits: split, or the path, must name one of {splits}")
        if split not in splits:
            raise InputError(f"the dataset folder {path} has no split {split!r}{nearest(split, splits)}")
        return [name for name in names if name.startswith(f"{split}/")]
    if split:
        raise InputError(f"the folder {path} must hold {_SPLITS_FILE} to have the split {split!r}, got none")
    inner = [name for name in names if name.endswith(f"/{_SPLITS_FILE}")]
    if inner:
        raise InputError(f"{path} must be the dataset folder itself, {path}/{min(inner).rpartition('/')[0]}")
    return names
