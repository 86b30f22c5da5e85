"""Reads and writes objects of S3 or Google Cloud Storage below an address, through fsspec.

A file system of fsspec holds a thread and connections, which do not survive a fork. So it is imported and opened at the
first request of a process, and fsspec keeps one a process.
"""

import errno
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from components.dsl.errors import InputError, install_command
from components.dsl.paths import leads_out

T = TypeVar("T")

# Scheme -> the extra of this project that installs its file system.
EXTRAS = {"s3": "s3", "gs": "gcs"}
_GOOGLE_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
# Scheme -> variables that hold credentials.
_CREDENTIALS = {"s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "gs": _GOOGLE_FILE}
# Scheme -> the options of its file system. Lists are never cached, as other machines write.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {"use_listings_cache": False, "config_kwargs": {"connect_timeout": 10, "read_timeout": 30}},
    "gs": {"use_listings_cache": False},
}
# Pauses between tries of a request; s3fs and gcsfs retry some errors themselves, within seconds.
_UNAUTHORIZED, _PRECONDITION_FAILED = 401, 412
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
# Libraries below the file systems whose errors are not of Python's own types.
_CLIENTS = ("botocore", "aiobotocore", "aiohttp", "gcsfs", "google", "requests")


class ObjectState(NamedTuple):
    """The state of an object: its size in bytes, and a tag that changes with its content."""

    size: int
    tag: str


def is_object_address(path: str) -> bool:
    """Whether a path is an address of object storage, as `s3://bucket/texts`."""
    return path.partition("://")[0] in EXTRAS and "://" in path


def number_of(name: str) -> int | None:
    """The number at the end of a name, such as 3 of `log/00000003.json` and of `pushed/3`; None if there is none."""
    last = name.rpartition("/")[2].removesuffix(".json")
    return int(last) if last.isascii() and last.isdecimal() else None


class ObjectStore:
    """The objects below an address; their names are relative to it.

    Args:
        tries: how often a request is tried that no server answers, at least 1.

    Raises:
        InputError: the scheme is unknown, the bucket has no name, or (by each method, too) a name has empty parts, `.`,
            `..` or backslashes, the extra is not installed, the server cannot be reached, the credentials are wrong, or
            the bucket does not exist.
    """

    def __init__(self, address: str, tries: int = len(_PAUSES) + 1) -> None:
        scheme, _, place = address.partition("://")
        if scheme not in EXTRAS:
            schemes = " or ".join(f"{name}://" for name in EXTRAS)
            raise InputError(f"an address of object storage must begin with {schemes}, got {address}")
        if not place.strip("/"):
            raise InputError(f"an address of object storage must name a bucket, got {address}")
        self.address = address.rstrip("/")
        self._scheme, self._place, self._tries = scheme, self._checked(place.strip("/")), tries

    def below(self, name: str) -> "ObjectStore":
        """The objects below a name."""
        return ObjectStore(f"{self.address}/{name}", self._tries)

    def read(self, name: str) -> bytes | None:
        """The content of an object; None if there is none."""
        return self._request(lambda files: bytes(files.cat_file(self._path(name))))

    def read_json(self, name: str) -> Any:
        """The content of a JSON object; None if there is none."""
        content = self.read(name)
        return None if content is None else json.loads(content)

    def read_all(self, names: Sequence[str]) -> dict[str, bytes]:
        """The contents of objects that exist, read side by side."""
        if not names:
            return {}
        paths = {self._path(name): name for name in names}
        contents = self._request(lambda files: files.cat(list(paths), on_error="raise")) or {}
        return {paths[path.lstrip("/")]: bytes(content) for path, content in contents.items()}

    def write(self, name: str, content: bytes) -> None:
        """Writes an object, or replaces it."""
        self._request(lambda files: files.pipe_file(self._path(name), content), is_write=True)

    def create(self, name: str, content: bytes) -> bool:
        """Writes an object unless there is one with this name; returns False if there is one with other content.

        Content that no other process writes tells a lost answer from a lost race: the request may be tried again after
        it succeeded.
        """
        try:
            self._request(lambda files: files.pipe_file(self._path(name), content, mode="create"), is_write=True)
        except FileExistsError:
            return self.read(name) == content
        return True

    def create_json(self, name: str, content: Mapping[str, Any]) -> bool:
        """Writes a JSON object as `create` does."""
        return self.create(name, json.dumps(content).encode())

    def state(self, name: str) -> ObjectState | None:
        """The state of an object; None if there is none."""
        info = self._request(lambda files: files.info(self._path(name)))
        return None if info is None or info["type"] != "file" else _state(info)

    def find_all(self, folder: str = "") -> dict[str, ObjectState]:
        """All objects below a folder, to any depth, by name, sorted."""
        return self._states(self._request(lambda files: files.find(self._path(folder), detail=True)))

    def children(self, folder: str = "") -> list[str]:
        """The last parts of the names directly below a folder, objects and folders, sorted."""
        infos = self._request(lambda files: files.ls(self._path(folder), detail=True)) or []
        paths = {info["name"].strip("/") for info in infos} - {self._path(folder)}
        return sorted(path.rpartition("/")[2] for path in paths)

    def numbers(self, folder: str = "") -> list[int]:
        """The numbers directly below a folder, such as 3 for `00000003.json` or the folder `3`, sorted."""
        numbers = map(number_of, self.children(folder))
        return sorted({number for number in numbers if number is not None})

    def match(self, pattern: str) -> list[str]:
        """The names of objects that match a pattern of `glob`."""
        return [*self._states(self._request(lambda files: files.glob(self._path(pattern), detail=True)))]

    def remove(self, names: Iterable[str]) -> None:
        """Removes objects; those that do not exist do not matter."""
        for name in names:
            self._request(lambda files, name=name: files.rm_file(self._path(name)))  # type: ignore[misc]

    def upload(self, file: Path, name: str) -> None:
        """Writes an object from a file; one that was killed in the middle leaves no object."""
        file.stat()
        self._request(lambda files: files.put_file(str(file), self._path(name)), is_write=True)

    def download(self, name: str, file: Path) -> None:
        """Writes an object to a file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        is_there = self._request(lambda files: (files.get_file(self._path(name), str(file)), True)[1])
        if not is_there:
            raise FileNotFoundError(f"{self.address}/{name} does not exist")

    def _path(self, name: str) -> str:
        return f"{self._place}/{self._checked(name)}" if name else self._place

    def _states(self, infos: Mapping[str, Mapping[str, Any]] | None) -> dict[str, ObjectState]:
        """The states of listed objects by name, sorted, without folders and the empty objects that stand for them."""
        states = {}
        for path, info in sorted((infos or {}).items()):
            state = _state(info)
            if info["type"] == "file" and (state.size or not path.endswith("/")):
                # Some file systems begin paths with a slash.
                states[self._checked(path.lstrip("/")[len(self._place) + 1 :])] = state
        return states

    def _checked(self, name: str) -> str:
        """The name of an object, which also becomes a path of this machine."""
        if leads_out(name):
            rule = "must have a name without empty parts, '.', '..' and backslashes"
            raise InputError(f"an object of {self.address} {rule}, got {name!r}; remove or rename it")
        return name

    def _request(self, action: Callable[[Any], T], *, is_write: bool = False) -> T | None:
        """Sends a request, again after errors of the connection; returns None for an object that does not exist.

        A write finds nothing missing but its bucket, which not all servers name in their answer.
        """
        for pause in (*_PAUSES[: self._tries - 1], None):
            try:
                return action(_open_files(self._scheme, self.address))
            except FileExistsError:
                raise
            except FileNotFoundError as error:
                if is_write or ("bucket" in str(error).lower() and "not exist" in str(error).lower()):
                    raise InputError(f"{self.address} must lie in a bucket that exists, got {_line(error)}") from None
                return None
            except Exception as error:
                if _status(error) == _PRECONDITION_FAILED:
                    raise FileExistsError(_line(error)) from error
                if _is_refused(error):
                    rule, advice = "must be open to these credentials", f"set them, as {_CREDENTIALS[self._scheme]}"
                    raise InputError(f"{self.address} {rule}, got {_line(error)}; {advice}") from None
                if not _is_of_connection(error):
                    raise
                if pause is None:
                    # Also of a body that was cut, so that it is tried again.
                    is_invalid = isinstance(error, OSError) and error.errno == errno.EINVAL
                    rule = "must be an address that the server accepts" if is_invalid else "must be reachable"
                    raise InputError(f"{self.address} {rule}, got {_line(error)}; nothing is lost: run again") from None
                time.sleep(pause)
        raise AssertionError("the last try returns or raises")


def _open_files(scheme: str, address: str) -> Any:
    file = os.environ.get(_GOOGLE_FILE)
    # gcsfs would go on without credentials.
    if scheme == "gs" and file and not os.path.isfile(file):
        raise InputError(f"{_GOOGLE_FILE} must be a file that exists, got {file}")
    # Else gcsfs asks for the kind of each bucket by another client, and warns where that finds no credentials.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    # It logs each error with pages of its own code, and raises it, too.
    logging.getLogger("gcsfs").setLevel(logging.CRITICAL)
    try:
        import fsspec

        return fsspec.filesystem(scheme, **_OPTIONS.get(scheme, {}))
    except ImportError:
        extra = EXTRAS[scheme]
        rule = f"needs the extra {extra!r}, which is not installed"
        raise InputError(f"{address} {rule}; run `{install_command(extra)}`") from None


def _state(info: Mapping[str, Any]) -> ObjectState:
    tag = info.get("ETag") or info.get("etag") or info.get("md5Hash") or info.get("mtime") or info.get("created")
    return ObjectState(int(info["size"] or 0), str(tag))


def _is_refused(error: Exception) -> bool:
    name = type(error).__name__
    # gcsfs has errors of its own for the first status, and plain ones of the system for the second.
    is_status = getattr(error, "code", None) == _UNAUTHORIZED or str(error).startswith("Forbidden: ")
    return isinstance(error, PermissionError) or is_status or "Credentials" in name or "Token" in name


def _status(error: Exception) -> int | None:
    """The status of the answer behind an error, as s3fs makes of one answer different errors for different servers."""
    response = getattr(error.__cause__ or error, "response", None)
    return response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None


def _is_of_connection(error: Exception) -> bool:
    if isinstance(error, InputError | NotImplementedError):
        return False
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _CLIENTS


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
