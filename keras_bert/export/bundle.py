"""A folder with exported files, and a task that asks one of them."""

import os
from pathlib import Path

from keras_bert.export.runtimes import OnnxModel, TFLiteModel
from keras_bert.folders import ONNX_FILE, TASK_FILE, TFLITE_FILE, TFLITE_FLOAT_FILE, TOKENIZER_FILES
from keras_bert.tasks.base import Runtime, Task
from keras_bert.tasks.registry import read_settings, restore
from keras_bert.tokenizers.loading import load_tokenizer

# What answers best for its size comes first.
_FILES = (TFLITE_FILE, TFLITE_FLOAT_FILE, ONNX_FILE)


def open_file(file: Path, max_length: int, num_threads: int = 1) -> Runtime:
    """An exported file in its runtime.

    Args:
        file: `.tflite` or `.onnx`.
        max_length: the most tokens of a row, which an `.onnx` file does not tell.
        num_threads: threads of one inference.

    Raises:
        ValueError: the file cannot be opened.
    """
    return OnnxModel(file, max_length, num_threads) if file.suffix == ".onnx" else TFLiteModel(file, num_threads)


def load_exported(folder: str | os.PathLike[str], file: str = "", *, num_threads: int = 1) -> Task:
    """The task of a folder that was exported or pushed to, asking one of its files.

    Args:
        folder: holds the file, `task.json`, `vocab.txt` and `tokenizer.json`.
        file: a `.tflite` or `.onnx` file in it; if empty the int8 one, else the one for LiteRT or ONNX Runtime.
        num_threads: threads of the runtime.

    Raises:
        FileNotFoundError: the folder lacks one of the files.
        ValueError: one of them is damaged.
    """
    folder = Path(folder)
    file = file or next((name for name in _FILES if (folder / name).is_file()), TFLITE_FILE)
    for name in (file, TASK_FILE, *TOKENIZER_FILES):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} is no pushed model: it has no {name}")
    task, settings = read_settings(folder / TASK_FILE)
    if not isinstance(settings.get("max_length"), int):
        raise ValueError(f"{folder / TASK_FILE} must say max_length, a whole number, got {settings}")
    runtime = open_file(folder / file, settings["max_length"], num_threads)
    return restore(task, runtime, load_tokenizer(folder), settings, folder / TASK_FILE)
