"""Loading a task from an exported file or folder."""

import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from keras_bert.core.folders import (
    ANSWERING_FILES,
    LEVELS_ABOVE,
    METRICS_FILE,
    MODEL_FILE,
    SAVED_MODEL_FILE,
    TASK_FILE,
    TFLITE_FILE,
    TOKENIZER_FILES,
    hint_of_versions,
)
from keras_bert.export.attachments import DIGEST_FILE, attach_entries, check_integrity, read_attachments
from keras_bert.export.mediapipe_text import MediaPipeTokenizer
from keras_bert.export.runtimes import PROBABILITIES, LogProbabilityClassifier, open_file
from keras_bert.export.tflite_kinds import is_for_mediapipe, takes_text
from keras_bert.interop.hub import SCHEME, HubAddress
from keras_bert.tasks import registry
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.loading import load_eager_tokenizer

_COMPANIONS = (TASK_FILE, *TOKENIZER_FILES)


def load(place: str | os.PathLike[str], task: str = "") -> Task:
    """Loads a trained or exported model, ready for `predict`.

    Args:
        place: a folder that `Task.save` or a training step wrote, for a Keras model; or a pushed folder or one of its
            files, see `load_exported`; or `hf://OWNER/NAME`, a repository of the Hugging Face hub with one of these.
        task: the name of a task inside of a model of several; empty for the whole model.

    Raises:
        FileNotFoundError: the file or folder does not exist, or a file is missing in the folder.
        ModuleNotFoundError: TensorFlow, which tokenizes text for a Keras model, is not installed.
        ValueError: a file is damaged, or is not on the hub, or the model has no such task inside.

    Examples:
        >>> task.save("sentiment")
        >>> [answer.label in task.labels for answer in load("sentiment").predict(["what a film"])]
        [True]
    """
    if task:
        return load(place).part(task)
    name = os.fspath(place)
    place = HubAddress.parse(name).resolve().download() if name.startswith(SCHEME) else Path(place)
    is_saved = (place / MODEL_FILE).is_file()
    is_exported = (
        place.is_file() or any((place / name).is_file() for name in ANSWERING_FILES) or hint_of_versions(place)
    )
    if is_exported and not is_saved:
        return load_exported(place)
    from keras_bert.compress.quantization_parameters import read_quantization

    loaded = registry.load(place)
    loaded.quantization = read_quantization(place)
    return loaded


def load_exported(place: str | os.PathLike[str], file: str = "", *, num_threads: int = 1) -> Task:
    """Loads a task from an exported file, or from a pushed folder, which runs in the runtime of the file.

    The calibration is read from `metrics.json`, if there is one. Neither Keras nor TensorFlow is imported, except for a
    file with text as input, which needs tensorflow-text's operations, and for a SavedModel.

    Args:
        place: a `.tflite` or `.onnx` file, a `saved_model.pb` with its folders beside it, or a folder with such a file,
            `task.json`, `vocab.txt` and `tokenizer.json`. For a MediaPipe file, texts are tokenized as MediaPipe does
            it.
        file: the name of the file in the folder; if empty, the first of `ANSWERING_FILES`.
        num_threads: threads of the runtime.

    Raises:
        FileNotFoundError: the file or folder does not exist, or a file is missing in the folder.
        ValueError: a file is damaged.
    """
    place = Path(place)
    if place.is_dir():
        file = file or next((name for name in ANSWERING_FILES if (place / name).is_file()), TFLITE_FILE)
        if not (place / file).is_file():
            raise FileNotFoundError(f"{place} is not a pushed model: it has no {file}{hint_of_versions(place)}")
        if (place / TASK_FILE).is_file() or file != SAVED_MODEL_FILE:
            _check_companions(place, [name for name in _COMPANIONS if (place / name).is_file()])
            return _load(place, place / file, num_threads)
        place /= file
    if not place.is_file():
        raise FileNotFoundError(f"{place} must be a file or a folder of a pushed model, there is none")
    attached = read_attachments(place)
    if not attached.keys() & set(_COMPANIONS):
        # A web file has no attached files, because every visitor downloads it; its pushed folder has them.
        for folder in place.absolute().parents[:LEVELS_ABOVE]:
            if all((folder / name).is_file() for name in _COMPANIONS):
                return _load(folder, place, num_threads)
    _check_companions(place, attached.keys())
    with tempfile.TemporaryDirectory() as folder_name:
        for name in (*_COMPANIONS, *({METRICS_FILE} & attached.keys())):
            (Path(folder_name) / name).write_bytes(attached[name])
        try:
            return _load(Path(folder_name), place, num_threads)
        except ValueError as error:
            raise ValueError(str(error).replace(folder_name, str(place))) from error


def attach_companions(task: Task, file: Path) -> None:
    """Attaches tokenizer and task settings to an exported file, unless they are attached already."""
    attached = read_attachments(file)
    with tempfile.TemporaryDirectory() as folder:
        task.save_settings(folder)
        attach_entries(file, {name: (Path(folder) / name).read_bytes() for name in _COMPANIONS if name not in attached})


def _check_companions(place: Path, names: Collection[str]) -> None:
    for name in _COMPANIONS:
        if name not in names:
            raise FileNotFoundError(f"{place} is not a pushed model: it has no {name}")


def _load(folder: Path, file: Path, num_threads: int) -> Task:
    """Loads a task from an exported file and a folder with its settings and tokenizer."""
    task, settings = registry.read_settings(folder / TASK_FILE)
    max_length = settings.get("max_length")
    if not isinstance(max_length, int):
        raise ValueError(f"{folder / TASK_FILE} must say max_length, a whole number, got {settings}")
    attached = read_attachments(file)
    for name in attached.keys() & {*_COMPANIONS, METRICS_FILE}:
        if (folder / name).is_file() and (folder / name).read_bytes() != attached[name]:
            way_out = f"load {file} alone to read the attached one"
            raise ValueError(f"{folder / name} must equal the file attached to {file.name}, but differs: {way_out}")
    # A damaged model may crash LiteRT; ONNX Runtime raises an error.
    if file.suffix == ".tflite" or file.name == SAVED_MODEL_FILE or DIGEST_FILE in attached:
        check_integrity(file)
    tokenizer = load_eager_tokenizer(folder)
    model: Any
    if file.suffix == ".tflite" and takes_text(file):
        from keras_bert.export.text_tasks import TextRuntime, find_text_task

        task, model = find_text_task(task), TextRuntime(file, max_length, num_threads)
    else:
        model = open_file(file, max_length, num_threads)
        if file.suffix == ".tflite" and is_for_mediapipe(file):
            tokenizer = MediaPipeTokenizer(tokenizer.vocabulary, lowercase=True)
            if isinstance(model.output, dict) and PROBABILITIES in model.output:
                model = LogProbabilityClassifier(model, independent=task.independent_labels)
    restored = registry.restore(task, model, tokenizer, settings, folder / TASK_FILE)
    if (folder / METRICS_FILE).is_file():
        restored.read_calibration(folder / METRICS_FILE)
    return restored
