"""Downloads files and folders of object storage and of the hub into a cache, each content once."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

from components.dsl.errors import InputError
from components.objects.hub import hub_files, is_hub_address
from components.objects.mirror import ADDRESS_FILE, downloads_folder
from components.objects.store import ObjectState, ObjectStore, is_object_address


def is_downloaded(path: str) -> bool:
    """Whether a path is an address whose files are downloaded before they are read."""
    return is_object_address(path) or is_hub_address(path)


def local_file(address: str) -> Path:
    """The copy of a file in the cache; it is downloaded unless the same content of this address is there."""
    if is_hub_address(address):
        return hub_files(address)
    folder, _, name = address.rpartition("/")
    store = ObjectStore(folder)
    state = store.state(name)
    if state is None:
        raise InputError(f"the file {address} must exist, found nothing there")
    place = _place(address, {name: state}) / name
    if not place.is_file():
        _fill(place.parent, address, lambda staging: store.download(name, staging / name))
    return place


def local_folder(address: str, select: Callable[[Iterable[str]], Iterable[str]] = list) -> Path:
    """The copy of a folder in the cache, as `local_file`.

    `select` chooses the objects to download by their relative names. Of a folder on the hub all files are downloaded.
    """
    if is_hub_address(address):
        return hub_files(address)
    store = ObjectStore(address)
    objects = store.find_all()
    states = {name: objects[name] for name in select(objects)}
    if not states:
        raise InputError(f"{address} must be a folder that exists, found nothing there")
    place = _place(address, states) / address.rstrip("/").rpartition("/")[2]

    def download(staging: Path) -> None:
        for name in states:
            store.download(name, staging / place.name / name)

    if not place.is_dir():
        _fill(place.parent, address, download)
    return place


def _place(address: str, states: dict[str, ObjectState]) -> Path:
    return downloads_folder() / hashlib.sha256(repr((address, sorted(states.items()))).encode()).hexdigest()[:32]


def _fill(folder: Path, address: str, download: Callable[[Path], None]) -> None:
    """Downloads into a folder beside its place and renames it, as several processes may do so at once."""
    staging = folder.with_name(f".{folder.name}-{uuid.uuid4().hex}")
    try:
        staging.mkdir(parents=True)
        download(staging)
        (staging / ADDRESS_FILE).write_text(address.rstrip("/").rpartition("/")[0], encoding="utf-8")
        try:
            os.rename(staging, folder)
        except OSError:
            if not folder.is_dir():
                raise
    except FileNotFoundError as error:
        raise InputError(f"{error}; it was removed while it was read: run again") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
