"""Addresses on the Hugging Face hub: their files, and the commits that jobs keep until somebody asks again."""

import dataclasses
import functools
import hashlib
import re
from pathlib import Path

from components.dsl.errors import input_errors
from components.objects.mirror import cache_folder
from keras_bert.core.folders import replaced_file
from keras_bert.interop.hub import SCHEME, HubAddress, fetch_checkpoint


def is_hub_address(path: str) -> bool:
    """Whether a path is an address on the hub, as `hf://OWNER/NAME`."""
    return path.startswith(SCHEME)


def pin_address(address: str, *, refresh: bool = False) -> str:
    """The address with the commit that its revision named when this machine first saw it, or with `refresh` names now.

    So a branch that moves changes no job until its user wants it to, and a finished job needs no network.
    """
    with input_errors(""):
        place = HubAddress.parse(address)
        file = cache_folder() / "commits" / hashlib.sha256(repr((place.page, place.revision)).encode()).hexdigest()
        if file.is_file() and not refresh:
            return str(dataclasses.replace(place, revision=file.read_text()))
        resolved = place.resolve()
    if resolved.revision != place.revision:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(file) as unfinished:
            unfinished.write_text(str(resolved.revision))
    return str(resolved)


@functools.cache
def resolve_address(address: str) -> HubAddress:
    """The place of an address with its commit, which stays for this process; see `pin_address`."""
    return HubAddress.parse(pin_address(address))


def match_hub(path: str) -> tuple[list[str], bool]:
    """The files that an address matches, which may end in a pattern of `glob`, and whether it is a folder."""
    from fsspec.utils import glob_translate

    place = resolve_address(path)
    with input_errors(""):
        names = place.list_files()
    if place.path in names:
        return [path], False
    start = path.removesuffix(place.path).rstrip("/")
    inside = [name for name in names if name.startswith(f"{place.path}/") or not place.path]
    if inside:
        return [f"{start}/{name}" for name in inside], True
    pattern = re.compile(glob_translate(place.path))
    return [f"{start}/{name}" for name in names if pattern.fullmatch(name)], False


def hub_files(address: str) -> Path:
    """A file or a folder in the hub's cache, see `HubAddress.download`."""
    with input_errors(""):
        return resolve_address(address).download()


def hub_checkpoint(address: str) -> Path:
    """The folder of a checkpoint, with the files that are read."""
    with input_errors(""):
        return fetch_checkpoint(str(resolve_address(address)))
