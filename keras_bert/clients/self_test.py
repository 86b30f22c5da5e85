"""The self-test of a pushed folder: golden rows by which an app sees, as it starts, that all its parts are right."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from keras_bert.clients.golden import flatten_output, predict_outputs
from keras_bert.core.folders import GOLDEN_FILE, LEVELS_ABOVE, SELF_TEST_FILE, TASK_FILE, read_json_file
from keras_bert.export.bundle import load_exported
from keras_bert.export.targets.registry import FILES
from keras_bert.tasks.base import Task, take_part

# As a share of the range of a file's golden outputs. From processor to processor most rows are equal, and a few differ
# by up to 11 % (docs/decisions/0055); of MiniLM's file that saturates, all rows of its self-test differed, by 6 % and
# more.
_TOLERANCE = 0.02
# Rows with outputs, and the least tokens of one.
_ROWS, _FEWEST_TOKENS = 3, 8
# How many numbers of an output are kept (the largest: the first ones of a sparse vector are 0 for every text), and how
# many tasks share the texts without outputs: the first pair with which the file has at most so many bytes.
_SIZES, _MOST_BYTES = ((64, 1), (32, 1), (16, 1), (8, 1), (8, 2), (8, 4), (8, 8)), 20_000
# The blocks of a file that `hash_blocks` reads, in bytes. A training changes each of them.
_BLOCKS, _BLOCK = 64, 64

_Part = Literal["file", "labels", "tokenizer", "outputs"]


class SelfTestError(ValueError):
    """A part of a pushed model is wrong: its `file`, `labels`, `tokenizer` or `outputs`."""

    def __init__(self, part: _Part, message: str) -> None:
        super().__init__(message)
        self.part = part


def write_self_test(folder: Path) -> None:
    """Writes `self_test.json` from the `golden.json` of a folder whose files do not change any more.

    It has

    - `files`: name -> `bytes`, the `hash` of `hash_blocks`, and the `tolerance` of an output;
    - `labels`: the hash of the labels, joined by line ends;
    - `rows`: golden rows. All have `text` with its `pieces`. Some have the model's inputs, `second` of a pair and
      `outputs`, too: the numbers at `places` of each file's output, where those of the first file are largest;
    - of several tasks only `tasks`: name -> the same for each, whose numbers have a range of their own. Eight tasks fit
      into 20 KB, as many files or tasks keep fewer numbers, and many tasks share the texts without outputs.
    """
    golden = json.loads((folder / GOLDEN_FILE).read_text(encoding="utf-8"))
    settings = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
    for count, sharing in _SIZES:
        tests = {}
        for index, (name, task) in enumerate(settings.get("tasks", {"": settings}).items()):
            test = _make_test(folder, task, [row for row in golden if row.get("task", "") == name], count)
            rows = [row for place, row in enumerate(test["rows"]) if "outputs" in row or (place - index) % sharing == 0]
            tests[name] = {**test, "rows": rows}
        content = json.dumps(tests.get("", {"tasks": tests}), ensure_ascii=False, separators=(",", ":"))
        if len(content.encode()) < _MOST_BYTES:
            break
    (folder / SELF_TEST_FILE).write_text(content + "\n", encoding="utf-8")


_INPUTS = ("text", "second", "pieces", "token_ids", "segment_ids", "padding_mask")
_Rows = Sequence[Mapping[str, Any]]


def _make_test(folder: Path, settings: Mapping[str, Any], golden: _Rows, count: int) -> dict[str, Any]:
    """The self-test of a task, from its settings and its golden rows, with so many numbers of an output."""
    names = [file.name for file in FILES if file.takes_pairs and Path(file.name).suffix in (".tflite", ".onnx")]
    files: dict[str, Any] = {}
    for name in names:
        numbers = [flatten_output(row["outputs"][name]) for row in golden if name in row["outputs"]]
        if numbers and (folder / name).is_file():
            tolerance = round(_TOLERANCE * float(np.ptp(np.concatenate(numbers))), 6)
            files[name] = {"bytes": (folder / name).stat().st_size, "hash": hash_blocks(folder / name)}
            files[name]["tolerance"] = max(tolerance, 1e-5)
    # A file for MediaPipe alone, or a SavedModel, has no such rows.
    chosen = _choose_rows(golden, has_pairs=bool(settings.get("pairs"))) if files else set()
    rows = []
    for number, row in enumerate(golden):
        if number in chosen:
            outputs = {name: np.array(flatten_output(row["outputs"][name])) for name in files if name in row["outputs"]}
            places = np.sort(np.argsort(-np.abs(next(iter(outputs.values()))), kind="stable")[:count])
            kept = {"places": places.tolist(), "outputs": {name: outputs[name][places].tolist() for name in outputs}}
            rows.append({key: value for key, value in row.items() if key in _INPUTS} | kept)
        elif "prompt" not in row and "second" not in row:
            rows.append({key: row[key] for key in ("text", "pieces")})
    return {"files": files, "labels": hash_bytes("\n".join(settings.get("labels", [])).encode()), "rows": rows}


def _choose_rows(rows: _Rows, *, has_pairs: bool) -> set[int]:
    """The numbers of the shortest rows of some tokens, of pairs where the model takes pairs."""
    usable = [number for number, row in enumerate(rows) if "prompt" not in row and row["outputs"]]
    usable = [number for number in usable if ("second" in rows[number]) == has_pairs] or usable
    long = [number for number in usable if len(rows[number]["token_ids"]) >= _FEWEST_TOKENS] or usable
    return set(sorted(long, key=lambda number: len(rows[number]["token_ids"]))[:_ROWS])


def hash_bytes(content: bytes, start: int = 0x811C9DC5) -> int:
    """FNV-1a of 32 bits (Fowler, Noll and Vo), which every language computes in three lines."""
    for byte in content:
        start = (start ^ byte) * 0x01000193 & 0xFFFFFFFF
    return start


def hash_blocks(file: Path) -> int:
    """The hash of some blocks of a file, the first and the last among them: it is read in less than a millisecond."""
    value, room = hash_bytes(b""), max(0, file.stat().st_size - _BLOCK)
    with file.open("rb") as opened:
        for block in range(_BLOCKS):
            opened.seek(block * room // (_BLOCKS - 1))
            value = hash_bytes(opened.read(_BLOCK), value)
    return value


def check_file(place: str | os.PathLike[str]) -> None:
    """Checks the files of a pushed folder by its self-test, on this machine.

    Args:
        place: the folder, for all `.tflite` and `.onnx` files that it has; or one of these files in it.

    Raises:
        FileNotFoundError: there is no file, or no self-test.
        SelfTestError: a part is wrong: a file is truncated or of another version, the labels are others, the tokenizer
            gives other tokens, or a file gives other outputs for all rows, as on a processor that computes otherwise.
        ValueError: a file is damaged.

    Examples:
        >>> check_file("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: nowhere must be a pushed folder with self_test.json, or a file in one; there is none
    """
    place = Path(place)
    folders = (place, *place.absolute().parents[:LEVELS_ABOVE])
    folder = next((folder for folder in folders if (folder / SELF_TEST_FILE).is_file()), None)
    if folder is None or not place.exists():
        raise FileNotFoundError(
            f"{place} must be a pushed folder with {SELF_TEST_FILE}, or a file in one; there is none"
        )
    content = read_json_file(folder / SELF_TEST_FILE)
    tests = content.get("tasks", {"": content})
    files = next(iter(tests.values()))["files"]
    present = [name for name in files if (folder / name).is_file()]
    names = present if place == folder else [place.absolute().relative_to(folder).as_posix()]
    if not names or not {*names} <= files.keys():
        raise FileNotFoundError(f"{place} must be one of {', '.join(files)} in {folder}")
    for name in names:
        _check_content(folder / name, files[name])
        task = load_exported(folder, name)
        for part, test in tests.items():
            _check(folder, name, take_part(task, part), test)


def _check_content(file: Path, expected: Mapping[str, Any]) -> None:
    size = file.stat().st_size
    if size != expected["bytes"]:
        rule = f"have {expected['bytes']} bytes, got {size}: it is truncated, or of another version"
        raise SelfTestError("file", f"{file} must {rule}")
    if hash_blocks(file) != expected["hash"]:
        raise SelfTestError("file", f"{file} must be the file of its self-test: it is damaged, or of another version")


def _check(folder: Path, name: str, task: Task, test: Mapping[str, Any]) -> None:
    """Checks the labels, the tokens and the outputs of a task."""
    if hash_bytes("\n".join(task.labels).encode()) != test["labels"]:
        raise SelfTestError("labels", f"{folder / TASK_FILE} must have the labels of the training, in their order")
    for row in test["rows"]:
        if task.tokenizer.tokenize_with_offsets([row["text"]])[0].to_list()[0] != row["pieces"]:
            raise SelfTestError("tokenizer", f"the tokenizer of {folder} gives other tokens for {row['text']!r}")
    differences, tolerance = [], test["files"][name]["tolerance"]
    for row in (row for row in test["rows"] if name in row.get("outputs", {})):
        output = np.array(flatten_output(predict_outputs(task, row["text"], row.get("second"))))
        differences.append(float(np.abs(output[row["places"]] - row["outputs"][name]).max()))
        # A last bit may change one row, a wrong computation changes all.
        if differences[-1] <= tolerance:
            return
    if differences:
        limit = f"by at most {tolerance:g} from those of its self-test, got {min(differences):.4g}"
        reason = "this processor or its runtime computes otherwise"
        raise SelfTestError("outputs", f"the outputs of {folder / name} must differ {limit}: {reason}")
