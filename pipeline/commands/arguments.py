"""Arguments that several verbs share, and how their values are read."""

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from components.dsl.errors import InputError
from components.files.text_files import is_remote
from components.objects.downloads import local_file, local_folder
from components.objects.store import ObjectStore
from pipeline.orchestrator import places
from pipeline.orchestrator.store import Store

_OUTPUTS = ("out", "json")
_ARTIFACT = "/artifacts/"


class Address(str):
    """The address of a root, a file or a folder in the place of a path, such as `s3://bucket/prefix`."""

    __slots__ = ()


def absolute_path(text: str) -> Path | Address:
    """A path as the user means it, whatever the working directory is later; an address stays for `open_addresses`."""
    if is_remote(text):
        return Address(text)
    return Path(text).expanduser().absolute()


def open_addresses(options: argparse.Namespace) -> None:
    """Puts paths of this machine in the place of addresses, such as `s3://bucket/prefix`.

    A root becomes the folder that mirrors it; a file or a folder that a command reads is downloaded into the cache.

    Raises:
        InputError: an address is none of object storage, cannot be used, or nothing is there.
    """
    for name, value in vars(options).items():
        places = value if isinstance(value, list) else [value]
        if not any(isinstance(place, Address) for place in places):
            continue
        if name in _OUTPUTS:
            raise InputError(f"--{name} must be a file on this machine, got {value}")
        opened = [open_address(place, is_root=name == "root") for place in places]
        setattr(options, name, opened if isinstance(value, list) else opened[0])


def open_address(place: Path | Address, *, is_root: bool = False) -> Path:
    """The path of this machine for a path or an address; raises as `open_addresses`."""
    if isinstance(place, Path):
        return place
    if is_root:
        from pipeline.remote.mirror import open_mirror

        return open_mirror(place)
    store, name = ObjectStore(place.rpartition("/")[0]), place.rstrip("/").rpartition("/")[2]
    if store.state(name) is not None:
        return local_file(place)
    # An artifact has a folder for each run that made it.
    runs = ObjectStore(place, tries=1).numbers() if _ARTIFACT in place else []
    return local_folder(f"{place}/{max(runs)}" if runs else place)


def add_root(parser: argparse.ArgumentParser) -> None:
    """Adds `--root`."""
    parser.add_argument(
        "--root",
        type=absolute_path,
        default="runs",
        help="the folder of runs and artifacts, or its address, as s3://BUCKET/PREFIX (default: %(default)s)",
    )


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Adds `--seeds` and `--set`."""
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="models that are trained, each from its own seed (the same as --set seeds=N)",
    )
    add_set(parser)


def add_set(parser: argparse.ArgumentParser) -> None:
    """Adds `--set`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace one setting, such as --set distillation.epochs=5; may be repeated; paths are relative to the "
        "working directory, not to the job's folder",
    )


def read_overrides(options: argparse.Namespace) -> list[str]:
    """The values of `--set` and `--seeds`, as `key=value`."""
    return [*options.set, *([] if options.seeds is None else [f"seeds={options.seeds}"])]


@contextlib.contextmanager
def open_store(root: Path) -> Iterator[Store]:
    """Opens the store of a root that a run has made.

    Raises:
        InputError: the root does not exist, or has no store.
    """
    if not root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {root}")
    with contextlib.closing(places.open_store(root, create=False)) as store:
        yield store
