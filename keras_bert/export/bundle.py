"""A folder with exported files, and a task that asks one of them."""

import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from keras_bert.export.attachments import DIGEST_FILE, attach, attached, check_whole
from keras_bert.export.runtimes import open_file
from keras_bert.folders import ANSWERING_FILES, METRICS_FILE, TASK_FILE, TFLITE_FILE, TOKENIZER_FILES
from keras_bert.tasks.base import Task
from keras_bert.tasks.calibration import read_calibration
from keras_bert.tasks.registry import read_settings, restore
from keras_bert.tokenizers.loading import load_tokenizer

_COMPANIONS = (TASK_FILE, *TOKENIZER_FILES)


def load_exported(place: str | os.PathLike[str], file: str = "", *, num_threads: int = 1) -> Task:
    """The task of a folder that was exported or pushed to, asking one of its files, or of such a file alone.

    What was measured of it, where it is there, says how it is calibrated.

    Args:
        place: a `.tflite` or `.onnx` file, or a folder that holds one, `task.json`, `vocab.txt` and `tokenizer.json`.
        file: of a folder, the file's name; if empty the int8 one, else the one for LiteRT or ONNX Runtime.
        num_threads: threads of the runtime.

    Raises:
        FileNotFoundError: there is no such file or folder, or it lacks one of the files.
        ValueError: one of them is damaged.
    """
    place = Path(place)
    if place.is_file():
        held = attached(place)
        _check_companions(place, held.keys())
        with tempfile.TemporaryDirectory() as folder:
            for name in (*_COMPANIONS, *({METRICS_FILE} & held.keys())):
                (Path(folder) / name).write_bytes(held[name])
            try:
                return _load(Path(folder), place, num_threads)
            except ValueError as error:
                raise ValueError(str(error).replace(folder, str(place))) from error
    file = file or next((name for name in ANSWERING_FILES if (place / name).is_file()), TFLITE_FILE)
    if not (place / file).is_file():
        raise FileNotFoundError(f"{place} is no pushed model: it has no {file}")
    _check_companions(place, [name for name in _COMPANIONS if (place / name).is_file()])
    return _load(place, place / file, num_threads)


def attach_companions(task: Task, file: Path) -> None:
    """Puts into a file of a task how text becomes its ids and its outputs become answers.

    Args:
        task: what the file was exported from.
        file: a `.tflite` or `.onnx` file; what it holds already stays.
    """
    held = attached(file)
    with tempfile.TemporaryDirectory() as folder:
        task.save_settings(folder)
        attach(file, {name: (Path(folder) / name).read_bytes() for name in _COMPANIONS if name not in held})


def _check_companions(place: Path, found: Collection[str]) -> None:
    for name in _COMPANIONS:
        if name not in found:
            raise FileNotFoundError(f"{place} is no pushed model: it has no {name}")


def _load(folder: Path, file: Path, num_threads: int) -> Task:
    """The task whose settings and tokenizer a folder holds, asking a file."""
    task, settings = read_settings(folder / TASK_FILE)
    if not isinstance(settings.get("max_length"), int):
        raise ValueError(f"{folder / TASK_FILE} must say max_length, a whole number, got {settings}")
    # LiteRT may end the process where a model is damaged, ONNX Runtime refuses it.
    if file.suffix != ".onnx" or DIGEST_FILE in attached(file):
        check_whole(file)
    runtime = open_file(file, settings["max_length"], num_threads)
    found = restore(task, runtime, load_tokenizer(folder), settings, folder / TASK_FILE)
    if (folder / METRICS_FILE).is_file():
        found.calibration = read_calibration(folder / METRICS_FILE)
    return found
