"""What tasks ask of a user's lists, with errors that say where they break the rule."""

from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np

from keras_bert.checks import check

Array = np.ndarray[Any, Any]


def as_texts(name: str, texts: Any, *, at_least: int = 1) -> list[str]:
    """The strings of a list, a tuple or another collection.

    Raises:
        TypeError: it is one string or no collection, or one of its items is no string.
        ValueError: there are fewer than `at_least`.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} must be a list of strings, got {texts!r}")
    strings = list(texts)
    for place, text in enumerate(strings):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{place}] must be a string, got {text!r}")
    if len(strings) < at_least:
        raise ValueError(f"{name} must hold at least one text, got none")
    return [str(text) for text in strings]


def as_numbers(name: str, values: Sequence[float]) -> Array:
    """A list of finite numbers as a column (rows, 1) float32.

    Raises:
        TypeError: one of the values is no number.
        ValueError: one is not finite.
    """
    for place, value in enumerate(values):
        try:
            finite = np.isfinite(float(value))
        except (TypeError, ValueError):
            raise TypeError(f"{name}[{place}] must be a number, got {value!r}") from None
        if not finite:
            raise ValueError(f"{name}[{place}] must be a finite number, got {value!r}")
    return np.array([float(value) for value in values], "float32").reshape(-1, 1)


def check_same_length(first: str, texts: Sized, second: str, others: Sized) -> None:
    """Raises ValueError unless both are equally long; `first` and `second` are their names."""
    if len(texts) != len(others):
        raise ValueError(f"{second} must be as many as {first} ({len(texts)}), got {len(others)}")


def check_labels(owner: str, labels: Sequence[str], outputs: int) -> tuple[str, ...]:
    """The labels as a tuple.

    Raises:
        TypeError: a label is no string.
        ValueError: a label stands twice, or there are not as many as the model has outputs.
    """
    names = as_texts(f"{owner}.labels", labels)
    check(owner, "labels", len(names) == outputs, f"be as many as the model's outputs ({outputs})", len(names))
    check(owner, "labels", len(set(names)) == len(names), "differ from one another", names)
    return tuple(names)


def label_numbers(labels: Sequence[str], known: Sequence[str]) -> Array:
    """Names -> their places among the known ones, int32.

    Raises:
        ValueError: a label is unknown.
    """
    numbers = {label: number for number, label in enumerate(known)}
    for row, label in enumerate(labels):
        if label not in numbers:
            raise ValueError(f"labels[{row}] must be one of {list(known)}, got {label!r}")
    return np.array([numbers[label] for label in labels], "int32")
