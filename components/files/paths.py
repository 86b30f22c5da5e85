"""Which files a path of the user's stands for, here or on a file system of Apache Beam, and what identifies them."""

import glob
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from components.dsl.errors import InputError, nearest
from components.files.text_files import extension, is_remote

# What `datasets` (Hugging Face) leaves beside the files of `save_to_disk`.
_SPLITS_FILE = "dataset_dict.json"
_OWN_FILES = (_SPLITS_FILE, "dataset_info.json", "state.json")
_CACHE = "cache-"
# A file's path, time and size -> the digest of its content; asked for several times before a step runs.
_DIGESTS: dict[tuple[str, int, int], str] = {}
_SETTLED_NANOSECONDS = 2_000_000_000
_MAGIC = re.compile(r"[*?\[]")


def match_files(path: str, kinds: Sequence[str], split: str = "", *, what: str) -> list[str]:
    """The files that a path stands for, sorted by name.

    Args:
        path: a file; a folder, searched to any depth for files of `kinds`; or a pattern, as `texts/*.txt` or
            `texts/**/*.jsonl.gz`. Links to folders are followed, but for those that lead back to a folder they lie in.
            A path with a scheme, as `gs://bucket/texts`, goes to Apache Beam.
        kinds: the extensions to look for in a folder, without those of compression.
        split: the one to take of a folder that `DatasetDict.save_to_disk` of Hugging Face wrote.
        what: the path is of, for errors, as `the corpus`.

    Raises:
        InputError: nothing is there, no file of these kinds, a folder that cannot be read, or a split is not there or
            not named.
    """
    path = _normal(path)
    if is_remote(path):
        files, folder = _match_remote(path)
    else:
        files, folder = _match_local(path)
    if not files and not folder:
        rule = "a pattern that matches a file" if _MAGIC.search(path) else "a file or a folder that exists"
        raise InputError(f"{what} must be {rule}, got {path}")
    if not folder:
        if split:
            raise InputError(f"{what} must be a folder with {_SPLITS_FILE} to have the split {split!r}, got {path}")
        return sorted(files)
    names = _choose_split(path, [file[len(path) + 1 :] for file in files], split)
    chosen = [name for name in names if extension(name) in kinds and not _is_own(name)]
    if not chosen:
        raise InputError(f"{what} must hold {', '.join(kinds)} files, got none in the folder {path}")
    return [f"{path}/{name}" for name in sorted(chosen)]


def short_name(file: str, path: str) -> str:
    """How a file that `match_files` found is called inside of `path`: the same wherever the whole is moved."""
    path = _normal(path)
    if file.startswith(f"{path}/"):
        return file[len(path) + 1 :]
    fixed = _MAGIC.split(path)[0].rpartition("/")[0] if file != path else ""
    return file[len(fixed) + 1 :] if fixed and file.startswith(f"{fixed}/") else file.rpartition("/")[2]


def file_digest(file: str) -> str:
    """What changes when the content of a file does.

    Of a file on this machine that is the SHA-256 of its bytes. A remote one is not read: it is its size and the
    checksum that its file system keeps (MD5 or CRC32C on `gs://`, the ETag on `s3://`, the time of the last change
    where there is no checksum).

    Raises:
        InputError: it is missing or cannot be read.
    """
    if is_remote(file):
        return _ask_beam(file, _remote_state)
    try:
        status = os.stat(file)
        known = (os.path.abspath(file), status.st_mtime_ns, status.st_size)
        if known in _DIGESTS:
            return _DIGESTS[known]
        with open(file, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the file {file} must be readable, got {error.strerror}") from None
    # Of a file that was written a moment ago, another writing may leave time and size as they are.
    if time.time_ns() - status.st_mtime_ns > _SETTLED_NANOSECONDS:
        _DIGESTS[known] = digest
    return digest


def _normal(path: str) -> str:
    return path.rstrip("/") if is_remote(path) else os.path.normpath(path)


def _match_local(path: str) -> tuple[list[str], bool]:
    """The files, and whether the path is a folder."""
    if os.path.isfile(path):
        return [path], False
    if os.path.isdir(path):
        found = (f"{folder}/{name}" for folder, names in _walk(path) for name in names)
        return [f"{path}/{file[len(path) :].lstrip('/')}" for file in found if os.path.isfile(file)], True
    return list({os.path.normpath(file) for file in _expand(path) if os.path.isfile(file)}), False


def _walk(folder: str, *, hidden: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Each folder from this one down, also behind links, with the names of what it holds besides folders.

    Args:
        folder: where to begin.
        hidden: whether to enter folders whose names begin with a dot.
    """

    def refuse(error: OSError) -> None:
        raise InputError(f"the folder {error.filename} must be readable, got {error.strerror}") from None

    above: dict[str, frozenset[str]] = {folder: frozenset()}
    for path, inner, names in os.walk(folder, followlinks=True, onerror=refuse):
        # A link to one of these would go round for ever.
        own = above.pop(path) | {os.path.realpath(path)}
        inner[:] = [name for name in inner if hidden or not name.startswith(".")]
        inner[:] = [name for name in inner if os.path.realpath(os.path.join(path, name)) not in own]
        above.update((os.path.join(path, name), own) for name in inner)
        yield path, names


def _expand(pattern: str) -> Iterator[str]:
    """What a pattern of `glob` matches, some of it maybe twice; `glob` itself would go round in loops of links."""
    parts = pattern.split("/")
    if "**" not in parts:
        yield from glob.glob(pattern)
        return
    place = parts.index("**")
    head, tail = "/".join(parts[:place]), "/".join(parts[place + 1 :]) or "*"
    for root in filter(os.path.isdir, glob.glob(head or ("/" if place else "."))):
        for folder, _ in _walk(root, hidden=False):
            yield from _expand(f"{glob.escape(folder).rstrip('/')}/{tail}")


def _match_remote(path: str) -> tuple[list[str], bool]:
    if _MAGIC.search(path):
        return _ask_beam(path, _list_remote), False
    inside = _ask_beam(f"{path}/**", _list_remote)
    return (inside, True) if inside else (_ask_beam(path, _list_remote), False)


def _list_remote(pattern: str) -> list[str]:
    from apache_beam.io.filesystems import FileSystems

    return [found.path for found in FileSystems.match([pattern])[0].metadata_list]


def _remote_state(file: str) -> str:
    from apache_beam.io.filesystems import FileSystems

    found = FileSystems.match([file])[0].metadata_list
    if not found:
        raise InputError(f"the file {file} must exist, found nothing there")
    checksum = FileSystems.checksum(file) or found[0].last_updated_in_seconds
    return f"{found[0].size_in_bytes}-{checksum}"


def _ask_beam(path: str, ask: Callable[[str], Any]) -> Any:
    from apache_beam.io.filesystem import BeamIOError

    try:
        return ask(path)
    except InputError:
        raise
    except (BeamIOError, OSError, ValueError) as error:
        raise InputError(f"{path} must be readable, got {' '.join(str(error).split())}") from None


def _choose_split(path: str, names: list[str], split: str) -> list[str]:
    """The names of all files, or those of the one split of a `DatasetDict`."""
    if _SPLITS_FILE in names:
        known = sorted({name.partition("/")[0] for name in names if "/" in name})
        if not split:
            raise InputError(f"the dataset folder {path} has splits: split, or the path, must name one of {known}")
        if split not in known:
            raise InputError(f"the dataset folder {path} has no split {split!r}{nearest(split, known)}")
        return [name for name in names if name.startswith(f"{split}/")]
    if split:
        raise InputError(f"the folder {path} must hold {_SPLITS_FILE} to have the split {split!r}, got none")
    inner = [name for name in names if name.endswith(f"/{_SPLITS_FILE}")]
    if inner:
        raise InputError(f"{path} must be the dataset folder itself, {path}/{min(inner).rpartition('/')[0]}")
    return names


def _is_own(name: str) -> bool:
    """Whether a file is one that `datasets` wrote for itself: a description, indices, or the result of a `map`."""
    last = name.rpartition("/")[2]
    return last in _OWN_FILES or (last.startswith(_CACHE) and extension(last) == ".arrow")
