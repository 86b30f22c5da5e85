"""Golden vectors: texts with their pieces, the files' numbers and the answers, which an app can be tested against."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.export.bundle import load_exported
from keras_bert.export.files import FILES, ExportedFile
from keras_bert.export.runtimes import LogProbabilityClassifier
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.folders import GOLDEN_FILE, METRICS_FILE
from keras_bert.tasks.base import Array, Task
from keras_bert.tasks.calibration import Calibration, read_calibration

_DIGITS = 6
# A file that takes text gives the numbers of the one that takes ids; `check_text` proves it.
_FILES = tuple(file for file in FILES if file.takes_ids)


def make_golden_rows(folder: Path) -> list[dict[str, Any]]:
    """What a client has to get for each text.

    Args:
        folder: of exported files, with the task's settings and its tokenizer.

    Returns:
        Of each `text` (the question, of answers) and, of pairs, `second`: `pieces` and `offsets` of all its pieces, in
        characters (Unicode code points), without special tokens; the model's inputs, cut to its longest row; `outputs`,
        each file's numbers for that row by the file's name, of outputs along the tokens one list a token; and `answer`,
        that of the file which `predict` asks, before calibration, of vectors nothing more. A file for MediaPipe gets
        single texts alone and the ids that MediaPipe makes of them, and answers with probabilities of classes.
    """
    task = load_exported(folder)
    # A folder in the making has no metrics yet; where there are some, they count for `calibrated` alone.
    task.calibration = Calibration()
    tasks = {file: load_exported(folder, file.name) for file in _FILES if (folder / file.name).is_file()}
    return [_golden(task, tasks, text, second) for text, second in _texts(task)]


def write_golden(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes `golden.json`."""
    (folder / GOLDEN_FILE).write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")


def add_calibrated_answers(folder: Path) -> None:
    """Adds to each answer of a `golden.json` the `calibrated` one, which `predict` gives.

    Nothing changes where `metrics.json` holds no calibration. With a threshold, each answer says whether the model
    `is_sure` of it.

    Args:
        folder: of exported files, with `golden.json` and `metrics.json`.
    """
    if read_calibration(folder / METRICS_FILE) == Calibration():
        return
    task, rows = load_exported(folder), json.loads((folder / GOLDEN_FILE).read_text(encoding="utf-8"))
    for row in rows:
        if "answer" in row:
            row["calibrated"] = _with_sureness(task, _answer(task, row["text"], row.get("second"))["answer"])
    write_golden(folder, rows)


def _texts(task: Task) -> list[tuple[str, str | None]]:
    singles: list[tuple[str, str | None]] = [(text, None) for text in TEXTS]
    pairs: list[tuple[str, str | None]] = list(zip(TEXTS, SECONDS, strict=True))
    return {"optional": singles + pairs, "required": pairs, "unused": singles, "compared": singles}[task.second_text]


def _golden(task: Task, tasks: Mapping[ExportedFile, Task], text: str, second: str | None) -> dict[str, Any]:
    ids, starts, ends = task.tokenizer.tokenize_with_offsets([text])
    return {
        "text": text,
        **({} if second is None else {"second": second}),
        "pieces": ids.to_list()[0],
        "offsets": [list(place) for place in zip(starts.to_list()[0], ends.to_list()[0], strict=True)],
        **{name: values[0].tolist() for name, values in _encode(task, text, second).items()},
        "outputs": {
            file.name: np.round(_predict_outputs(file_task, text, second).astype("float64"), _DIGITS).tolist()
            for file, file_task in tasks.items()
            if second is None or file.takes_pairs
        },
        **_answer(task, text, second),
    }


def _encode(task: Task, text: str, second: str | None) -> dict[str, Array]:
    pair = None if second is None else [second]
    encoded = task.tokenizer.encode([text], pair, max_length=task.max_length, pad_to_longest=True)
    return {name: np.asarray(values) for name, values in encoded.items()}


def _predict_outputs(task: Task, text: str, second: str | None) -> Array:
    """The numbers of a file for a row, without padding."""
    output = task.model.predict_on_batch(_encode(task, text, second))
    values = np.asarray(output[task.output_name] if isinstance(output, dict) else output)[0]
    # The file gives probabilities, and the task gets their logarithms.
    return np.exp(values) if isinstance(task.model, LogProbabilityClassifier) else values


def _answer(task: Task, text: str, second: str | None) -> dict[str, Any]:
    if not task.predicts_records:
        return {}
    answers = task.predict([text]) if second is None else task.predict([text], [second])
    return {"answer": _plain(answers[0])}


def _with_sureness(task: Task, answer: Any) -> Any:
    if task.calibration.threshold is None:
        return answer
    if isinstance(answer, list):
        return [_with_sureness(task, entry) for entry in answer]
    return {**answer, "is_sure": task.calibration.is_sure(answer["probability"])}


def _plain(value: Any) -> Any:
    """Records as tables, numbers rounded; what is infinite, as JSON has it not, is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return round(float(value), _DIGITS) if np.isfinite(value) else None
    return value
