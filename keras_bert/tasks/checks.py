"""Checks of a user's lists, with errors that name the entry."""

import sys
from collections.abc import Iterable, Sequence, Sized
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from keras_bert.core.checks import broken_float32_rule, check, nearest_name

if TYPE_CHECKING:
    import keras

Array = np.ndarray[Any, Any]


def is_keras_model(model: Any) -> "TypeGuard[keras.Model]":
    """Whether a model is one of Keras, and not an exported file; where nothing imported Keras, there is none."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def check_keras_model(task: Any, use: str) -> None:
    """Refuses a task on an exported file where only a Keras model will do; `use` is a participle for the error.

    Raises:
        ValueError: the task's model is an exported file.
    """
    if not is_keras_model(task.model):
        raise ValueError(
            f"{type(task).__name__}.model must be a Keras model to be {use}, got a file in {task.model.name}: load the "
            "folder of the model that the file was exported from"
        )


def as_texts(name: str, texts: Any, *, at_least: int = 1) -> list[str]:
    """The strings of a list, a tuple or another collection.

    Raises:
        TypeError: `texts` is one string or not a collection, or an item is not a string.
        ValueError: there are fewer than `at_least` items.
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


def as_sentences(name: str, sentences: Any) -> list[list[str]]:
    """The sentences of a list of lists of words.

    Raises:
        TypeError: one of them is not a list of strings.
        ValueError: there are none.
    """
    if isinstance(sentences, str | bytes) or not isinstance(sentences, Iterable):
        raise TypeError(f"{name} must be a list of lists of strings, got {sentences!r}")
    lists = [as_texts(f"{name}[{row}]", sentence, at_least=0) for row, sentence in enumerate(sentences)]
    if not lists:
        raise ValueError(f"{name} must hold at least one sentence, got none")
    return lists


def as_numbers(name: str, values: Sequence[float]) -> Array:
    """A list of finite numbers as a column (rows, 1) float32.

    Raises:
        TypeError: one of the values is not a number.
        ValueError: one is not finite, or larger than float32 can hold.
    """
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
    """The labels as a tuple.

    Raises:
        TypeError: a label is not a string.
        ValueError: a label stands twice, or there are not as many as the model has outputs.
    """
    names = as_texts(f"{owner}.labels", labels)
    check(owner, "labels", len(names) == outputs, f"be as many as the model's outputs ({outputs})", len(names))
    check(owner, "labels", len(set(names)) == len(names), "differ from one another", names)
    return tuple(names)


def label_number(name: str, label: Any, allowed: Sequence[str]) -> int:
    """A label -> its index among the allowed labels.

    Raises:
        ValueError: the label is unknown; the error names the argument.
    """
    if label not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {label!r}{nearest_name(str(label), allowed)}")
    return list(allowed).index(label)


def label_numbers(labels: Sequence[str], allowed: Sequence[str]) -> Array:
    """Labels -> their indices among the allowed labels, int32.

    Raises:
        ValueError: a label is unknown.
    """
    numbers = {label: number for number, label in enumerate(allowed)}
    for row, label in enumerate(labels):
        if label not in numbers:
            label_number(f"labels[{row}]", label, allowed)  # raises
    return np.array([numbers[label] for label in labels], "int32")
