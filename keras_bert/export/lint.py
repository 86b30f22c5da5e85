"""Checks that an exported file follows the rules for its format; a violation raises an error."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from keras_bert.export.attachments import read_attachments
from keras_bert.export.rules import contents, lite, onnx_files
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite_graphs import read_graphs

Rule = Callable[[Any, Expected], Iterator[str]]


class LintError(AssertionError):
    """An exported file violates a rule; the message names the file, the rule and the place."""


def lint_file(path: Path, expected: Expected) -> None:
    """Checks a `.tflite` or `.onnx` file with its companions attached against all rules for its format.

    Raises:
        LintError: the file violates a rule; the message has the first violation.
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
            for violation in rule(subject, expected):
                raise LintError(f"{path.name}, {rule.__name__}: {violation}")
