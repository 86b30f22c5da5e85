"""The folder beside an output that holds finished parts, so that a run that was killed resumes."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.dsl.errors import InputError
from components.dsl.locks import lock_file
from keras_bert.core.folders import write_whole

_KEY = "key.json"
CHUNKS, PARTS = "chunks", "parts"


def work_folder(output: Path) -> Path:
    """The work folder of an output."""
    return output.with_name(f".{output.name}.work")


@contextlib.contextmanager
def locked_folder(output: Path, key: Mapping[str, Any]) -> Iterator[Path]:
    """The work folder of an output, locked during the block; without the parts of a run of another key.

    The key has the digests of all that the parts depend on.
    """
    folder = work_folder(output)
    with _locked(folder, output):
        try:
            is_same = json.loads((folder / _KEY).read_text(encoding="utf-8")) == dict(key)
        except (FileNotFoundError, ValueError):
            is_same = False
        if not is_same:
            for entry in folder.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            write_whole(folder / _KEY, key)
        for name in (CHUNKS, PARTS):
            (folder / name).mkdir(exist_ok=True)
        yield folder


@contextlib.contextmanager
def _locked(folder: Path, output: Path) -> Iterator[None]:
    if not folder.parent.is_dir():
        raise InputError(f"--out must be in a folder that exists, got {output}")
    while True:
        place = None
        try:
            folder.mkdir(exist_ok=True)
            # The run that held it may just have removed it.
            with contextlib.suppress(FileNotFoundError):
                place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise InputError(f"--out must be in a folder that can be written, got {output}: {error.strerror}") from None
        if place is None:
            continue
        try:
            if not lock_file(place):
                raise InputError(f"--out must be free, got {output}: another run is writing it")
            # Another run may have removed the folder before it was locked.
            if folder.is_dir() and os.path.samestat(os.fstat(place), folder.stat()):
                yield
                return
        finally:
            os.close(place)
