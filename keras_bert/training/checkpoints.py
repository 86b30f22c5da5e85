"""Training checkpoints: single files, written atomically and verified by a digest when they are read."""

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
from safetensors.numpy import load_file, save_file

from keras_bert.core.folders import sync

logger = logging.getLogger(__name__)

_SUFFIX = ".safetensors"
_PARTIAL = ".partial"
_DIGEST = 16

Arrays = dict[str, np.ndarray[Any, Any]]


class CheckpointError(RuntimeError):
    """Checkpoints exist, but this training can resume from none of them."""


class TrainingState(NamedTuple):
    """The content of a checkpoint: the weights and all other arrays by name, and plain values."""

    arrays: Arrays
    state: dict[str, Any]


class Checkpoints:
    """The newest `keep` checkpoints of a training, in a folder.

    The name of a file holds the step and the digest of its bytes, so that truncated or corrupted files are detected.
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int = 2) -> None:
        self.folder = Path(folder)
        self._keep = keep

    def save(self, step: int, arrays: Mapping[str, np.ndarray[Any, Any]], state: Mapping[str, Any]) -> Path:
        """Writes a checkpoint with the number of finished steps; older ones stay until it is on the disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f"{step:09d}-{os.getpid()}{_PARTIAL}"
        whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        try:
            try:
                save_file(whole, partial, metadata={"state": json.dumps(state)})
            except safetensors.SafetensorError as error:
                raise OSError(f"{partial} cannot be written: {error}") from error
            digest = _digest(partial)
            sync(partial)
            file = self.folder / f"{step:09d}-{digest}{_SUFFIX}"
            partial.rename(file)
        finally:
            partial.unlink(missing_ok=True)
        sync(self.folder)
        for old in self._files()[: -self._keep]:
            old.unlink(missing_ok=True)
        return file

    def load(self, *, repair: bool = True) -> TrainingState | None:
        """The newest readable checkpoint, or None if there is none; logs a warning for every corrupted one.

        It deletes what a killed process left, and sets corrupted files aside, unless another process writes to the
        folder (`repair` is False).
        """
        for partial in self.folder.glob(f"*{_PARTIAL}") if repair else ():
            partial.unlink(missing_ok=True)
        files = self._files()
        for file in reversed(files):
            is_whole = False
            # A file that its writer sets aside meanwhile is not whole.
            with contextlib.suppress(FileNotFoundError):
                is_whole = _digest(file) == file.stem.partition("-")[2]
            if is_whole:
                with safetensors.safe_open(file, "numpy") as opened:
                    state = json.loads(opened.metadata()["state"])
                return TrainingState(load_file(file), state)
            logger.warning("the checkpoint %s is damaged; going back to the one before it", file)
            # A corrupted file must not count among the checkpoints to keep.
            if repair:
                file.rename(file.with_suffix(".damaged"))
        if files:
            raise CheckpointError(f"{self.folder} holds only checkpoints that are damaged; run again to start over")
        return None

    def _files(self) -> list[Path]:
        """The checkpoints, oldest first."""
        return sorted(self.folder.glob(f"*-*{_SUFFIX}"))


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:_DIGEST]
