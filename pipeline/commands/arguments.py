"""Arguments that several verbs share, and how their values are read."""

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from components.dsl.errors import InputError
from pipeline.orchestrator.store import Store


def absolute_path(text: str) -> Path:
    """A path as the user means it, whatever the working directory is later."""
    return Path(text).expanduser().absolute()


def add_root(parser: argparse.ArgumentParser) -> None:
    """Adds `--root`."""
    parser.add_argument(
        "--root", type=absolute_path, default="runs", help="the folder of runs and artifacts (default: %(default)s)"
    )


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Adds `--seeds` and `--set`."""
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="models that are trained, each from its own seed (the same as --set seeds=N)",
    )
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
    with contextlib.closing(Store(root, create=False)) as store:
        yield store
