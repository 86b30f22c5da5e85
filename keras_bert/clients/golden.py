"""Golden outputs: texts with their token ids, the outputs of the files and the answers, to test an app against."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.core.folders import GOLDEN_FILE, METRICS_FILE, read_json_file
from keras_bert.export.bundle import load_exported
from keras_bert.export.files import ExportedFile
from keras_bert.export.runtimes import LogProbabilityClassifier
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.export.targets.registry import FILES
from keras_bert.tasks.base import Array, Task, take_part
from keras_bert.tasks.calibration import Calibration

_DIGITS = 6
# A file that takes text gives the same outputs as the file that takes ids; `check_text` verifies it.
_FILES = tuple(file for file in FILES if file.takes_ids)


def make_golden_rows(folder: Path, part: str = "") -> list[dict[str, Any]]:
    """Makes the rows of `golden.json`: the results that a client must get for each text.

    Returns:
        A row for each text or pair:
        - `text`, the question in question answering; `second`, for a pair; `prompt`, the name of a prompt in
          `task.json` that stands in front of the text in everything below;
        - `pieces` and `offsets`: the ids of all tokens of the text and their offsets in characters (Unicode code
          points), without special tokens;
        - the model's inputs by name, truncated to its maximum length;
        - `outputs`: file name -> the file's output for these inputs, one list for each token if it has a length axis;
        - `answer`: the answer of the file that `predict` uses, before calibration; left out where the task predicts
          vectors.

        `part` is the name of a task inside of files of several.

        A file for MediaPipe gets only single texts and the ids that MediaPipe makes of them, and its classifiers give
        probabilities.
    """
    task = take_part(load_exported(folder), part)
    # A folder that is being exported has no metrics yet; if there are some, only `calibrated` uses them.
    task.calibration = Calibration()
    files = [file for file in _FILES if (folder / file.name).is_file()]
    tasks = {file: take_part(load_exported(folder, file.name), part) for file in files}
    singles: list[tuple[str, str | None]] = [(text, None) for text in TEXTS]
    pairs: list[tuple[str, str | None]] = list(zip(TEXTS, SECONDS, strict=True))
    rows = {"optional": singles + pairs, "required": pairs, "unused": singles, "compared": singles}[task.second_text]
    prompts = task.settings().get("prompts", {})
    prompted = [
        {"text": TEXTS[0], "prompt": name, **_golden(task, tasks, prompt + TEXTS[0], None)}
        for name, prompt in prompts.items()
    ]
    return [
        {"text": text, **({} if second is None else {"second": second}), **_golden(task, tasks, text, second)}
        for text, second in rows
    ] + prompted


def write_golden(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    r"""Writes `golden.json`."""
    (folder / GOLDEN_FILE).write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")


def drop_absent_files(folder: Path) -> None:
    """Removes the outputs of files that a folder does not hold from its `golden.json`."""
    rows = json.loads((folder / GOLDEN_FILE).read_text(encoding="utf-8"))
    for row in rows:
        row["outputs"] = {name: output for name, output in row["outputs"].items() if (folder / name).is_file()}
    write_golden(folder, rows)


def add_calibrated_answers(folder: Path) -> None:
    """Adds `calibrated` to each row of a folder's `golden.json`: the calibrated answer, which `predict` gives.

    Rows of a task without a calibration in `metrics.json` do not change. With a threshold, each answer gets `is_sure`.
    """
    metrics = read_json_file(folder / METRICS_FILE)
    tables = metrics.get("tasks", {"": metrics})
    calibrated = [name for name, table in tables.items() if table.get("calibration") is not None]
    if not calibrated:
        return
    task = load_exported(folder)
    tasks = {name: take_part(task, name) for name in calibrated}
    rows = json.loads((folder / GOLDEN_FILE).read_text(encoding="utf-8"))
    for row in rows:
        if "answer" in row and (part := tasks.get(row.get("task", ""))):
            row["calibrated"] = _with_sureness(part, _answer(part, row["text"], row.get("second"))["answer"])
    write_golden(folder, rows)


def _golden(task: Task, tasks: Mapping[ExportedFile, Task], text: str, second: str | None) -> dict[str, Any]:
    ids, starts, ends = task.tokenizer.tokenize_with_offsets([text])
    return {
        "pieces": ids.to_list()[0],
        "offsets": [list(place) for place in zip(starts.to_list()[0], ends.to_list()[0], strict=True)],
        **{name: values[0].tolist() for name, values in _encode(task, text, second).items()},
        "outputs": {
            file.name: np.round(predict_outputs(file_task, text, second).astype("float64"), _DIGITS).tolist()
            for file, file_task in tasks.items()
            if second is None or file.takes_pairs
        },
        **_answer(task, text, second),
    }


def _encode(task: Task, text: str, second: str | None) -> dict[str, Array]:
    pair = None if second is None else [second]
    encoded = task.tokenizer.encode([text], pair, max_length=task.max_length, pad_to_longest=True)
    return {name: np.asarray(values) for name, values in encoded.items()}


def predict_outputs(task: Task, text: str, second: str | None) -> Array:
    """Runs a file on one row; returns its output for the row, without padding."""
    batch = _encode(task, text, second)
    if isinstance(task.model, LogProbabilityClassifier):
        return task.model.predict_probabilities(batch)[0]  # as the file gives them
    output = task.model.predict_on_batch(batch)
    return np.asarray(output[task.output_name] if isinstance(output, dict) else output)[0]


def flatten_output(output: Any) -> list[float]:
    """The numbers of a golden output, rounded as there, one row of tokens after the other."""
    return [float(number) for number in np.round(np.ravel(np.asarray(output, "float64")), _DIGITS)]


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
    """Converts records to dicts and rounds numbers; infinite numbers, which JSON cannot write, become None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return round(float(value), _DIGITS) if np.isfinite(value) else None
    return value
