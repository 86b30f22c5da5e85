"""Checks of a user's lists, with errors that name the entry."""

import sys
from collections.abc import Sequence, Sized
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from keras_bert.core.checks import as_list, broken_float32_rule, check, nearest_name

if TYPE_CHECKING:
    import keras

Array = np.ndarray[Any, Any]


def is_keras_model(model: Any) -> "TypeGuard[keras.Model]":
    """Whether a model is one of Keras, and not an exported file; where nothing imported Keras, there is none."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def check_keras_model(task: Any, use: str) -> None:
    """Refuses a task on an exported file where only a Keras model will do; `use` is a participle for the error."""
    if not is_keras_model(task.model):
        raise ValueError(
            f"{type(task).__name__}.model must be a Keras model to be {use}, got a file in {task.model.name}: load the "
            "folder of the model that the file was exported from"
        )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' `NA`, which is not even equal to itself."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, Real) and bool(value != value))


def as_columns(**columns: Any) -> list[list[Any]]:
    """Columns by name as lists, which must be as long as the first one."""
    lists = {name: as_list(name, column) for name, column in columns.items()}
    first, *others = lists
    for name in others:
        check_same_length(first, lists[first], name, lists[name])
    return [*lists.values()]


def as_texts(name: str, texts: Any, *, at_least: int = 1) -> list[str]:
    """The strings of a column, see `as_list`, which must be at least so many."""
    strings = as_list(name, texts, "strings")
    for place, text in enumerate(strings):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{place}] must be a string, got {text!r}")
    if len(strings) < at_least:
        raise ValueError(f"{name} must hold at least one text, got none")
    return [str(text) for text in strings]


def as_sentences(name: str, sentences: Any) -> list[list[str]]:
    """The sentences of a column of lists of words, which must be at least one."""
    sentences = as_list(name, sentences, "lists of strings")
    lists = [as_texts(f"{name}[{row}]", sentence, at_least=0) for row, sentence in enumerate(sentences)]
    if not lists:
        raise ValueError(f"{name} must hold at least one sentence, got none")
    return lists


def as_numbers(name: str, values: Sequence[float]) -> Array:
    """Numbers that must be finite, and not larger than float32 can hold, as a column (rows, 1) float32."""
    for place, value in enumerate(values):
        try:
            number = float(value)
            # Not texts: float("1_2") is 12.
            if isinstance(value, str | bytes):
                raise TypeError
        except (TypeError, ValueError):
            raise TypeError(f"{name}[{place}] must be a number, got {value!r}") from None
        if (rule := broken_float32_rule(number)) is not None:
            raise ValueError(f"{name}[{place}] must {rule}, got {value!r}")
    return np.array([float(value) for value in values], "float32").reshape(-1, 1)


def check_same_length(first: str, texts: Sized, second: str, others: Sized) -> None:
    """Raises ValueError unless both are equally long; `first` and `second` are their names."""
    if len(texts) != len(others):
        raise ValueError(f"{second} must be as many as {first} ({len(texts)}), got {len(others)}")


def check_labels(owner: str, labels: Sequence[str], outputs: int) -> tuple[str, ...]:
    """The labels as a tuple; they must differ, and be as many as the model has outputs."""
    names = as_texts(f"{owner}.labels", labels)
    check(owner, "labels", len(names) == outputs, f"be as many as the model's outputs ({outputs})", len(names))
    check(owner, "labels", len(set(names)) == len(names), "differ from one another", names)
    return tuple(names)


def label_number(name: str, label: Any, allowed: Sequence[str]) -> int:
    """A label -> its index among the allowed labels; `name` is that of the argument, for errors."""
    if label not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {label!r}{nearest_name(str(label), allowed)}")
    return list(allowed).index(label)


def label_numbers(labels: Sequence[str], allowed: Sequence[str]) -> Array:
    """Labels -> their indices among the allowed labels, int32."""
    numbers = {label: number for number, label in enumerate(allowed)}
    for row, label in enumerate(labels):
        if label not in numbers:
            label_number(f"labels[{row}]", label, allowed)  # raises
    return np.array([numbers[label] for label in labels], "int32")
