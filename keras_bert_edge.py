"""The module that the command starts in: it checks that the packages to import are those of this installation.

A wheel puts `keras_bert`, `components`, `pipeline` and `plugins` at the top of an environment, where a folder of the
user or another wheel may have the same names
(docs/decisions/0031-the-command-checks-where-its-packages-come-from.md). The name of this module is in use nowhere
else, and it imports none of them before the check.
"""

import csv
import gc
import importlib.util
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

PACKAGES = ("keras_bert", "components", "pipeline", "plugins")
# A clone runs without it.
_REMOVABLE = "plugins"
_BAD_INPUT = 2
_REINSTALL = "pip install --force-reinstall --no-deps keras_bert_edge-*.whl"


class InstallationError(Exception):
    """Another package or folder replaces one of `PACKAGES`, or its files were replaced or removed."""


def main() -> int:
    """Runs the command line; returns its exit status, 2 if the installation is not whole."""
    # Steps, workers of Beam and measurements run in child processes. Those would look in the working directory first.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        check_installation(Path(__file__).resolve().parent)
    except InstallationError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201, the terminal's module is not imported yet
        return _BAD_INPUT
    from pipeline.orchestrator.step_command import STEP_REQUEST

    if sys.argv[1:2] == [STEP_REQUEST]:
        from pipeline.orchestrator.launched_process import main as run_request

        return run_request(sys.argv[2])
    from pipeline.cli import main as run

    status = run()
    # What the process holds goes with it; looking through it for garbage would take a tenth of a cached run.
    gc.freeze()
    return status


def check_installation(folder: Path) -> None:
    """Checks that `PACKAGES` would be imported from a folder, and that their files are those of the installed wheel.

    Args:
        folder: of this installation, the one that this module is in.

    Raises:
        InstallationError: a package would be imported from elsewhere, or a file is missing, or another wheel's file has
            replaced it. Files that the user edited pass.
    """
    _check_files(folder)
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None and package == _REMOVABLE:
            continue
        place = None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), None)
        if place is None or Path(place).resolve() != folder / package / "__init__.py":
            raise InstallationError(
                f"the package {package!r} must be that of keras-bert-edge in {folder}, got {place or 'none'}; rename "
                "that one, or take its folder off Python's path (PYTHONPATH, .pth files, the folder of `python -m`)"
            )


def _check_files(folder: Path) -> None:
    """Compares the sizes of installed files with those that pip recorded; an editable installation records none."""
    missing, changed = [], []
    for file, size in _recorded_files(folder):
        try:
            actual = os.stat(folder / file).st_size
        except OSError:
            missing.append(file)
            continue
        if actual != size:
            changed.append(file)
    if not missing and not changed:
        return
    owners = _other_owners(folder, {*missing, *changed})
    if owners:
        raise InstallationError(
            f"{(*missing, *changed)[0]} of keras-bert-edge must not be replaced, and is by {', '.join(owners)}; use an "
            f"environment for each, or uninstall {' and '.join(owners)}, then run `{_REINSTALL}`"
        )
    if missing:
        raise InstallationError(
            f"{missing[0]} of keras-bert-edge must exist in {folder}, and is missing, as after uninstalling another "
            f"package with a folder of that name; run `{_REINSTALL}`"
        )


def _recorded_files(folder: Path) -> Iterator[tuple[str, int]]:
    """The files of `PACKAGES` that pip installed here, with their sizes in bytes."""
    for record in folder.glob("keras_bert_edge-*.dist-info/RECORD"):
        with record.open(newline="", encoding="utf-8") as stream:
            for file, _, size in csv.reader(stream):
                if size and file.startswith(tuple(f"{package}/" for package in PACKAGES)):
                    yield file, int(size)


def _other_owners(folder: Path, files: Collection[str]) -> list[str]:
    """The names of other distributions in a folder that installed one of the files."""
    owners = []
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        name = record.parent.name.partition("-")[0]
        with record.open(newline="", encoding="utf-8") as stream:
            if name != "keras_bert_edge" and any(row and row[0] in files for row in csv.reader(stream)):
                owners.append(name)
    return owners


if __name__ == "__main__":
    sys.exit(main())
