"""Checks that an exported file keeps the rules of its kind; a breach raises an error."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from keras_bert.export.attachments import read_attachments
from keras_bert.export.rules import contents, lite, onnx_files
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite_graphs import read_graphs

Rule = Callable[[Any, Expected], Iterator[str]]


class LintError(AssertionError):
    """An exported file breaks a rule; the message says file, rule and place."""


def lint_file(path: Path, expected: Expected) -> None:
    """Checks all rules of its kind on a file.

    Args:
        path: a `.tflite` or `.onnx` file with its companions attached.
        expected: the facts about the model that it was made from.

    Raises:
        LintError: it breaks a rule; the message has the first breach.
    """
    if path.suffix == ".onnx":
        import onnx

        _check(path, onnx_files.RULES, [onnx.load_model(path)], expected)
    else:
        _check(path, lite.RULES, read_graphs(path), expected)
    _check(path, contents.RULES, [read_attachments(path)], expected)


def _check(path: Path, rules: Iterable[Rule], subjects: Iterable[Any], expected: Expected) -> None:
    for subject in subjects:
        for rule in rules:
            for breach in rule(subject, expected):
                raise LintError(f"{path.name}, {rule.__name__}: {breach}")
