"""Checks of a user's lists, with errors that name the entry."""

import sys
from collections.abc import Mapping, Sequence, Sized
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from keras_bert.core.checks import as_list, broken_float32_rule, check, nearest_name
from keras_bert.core.target_scale import TOO_CLOSE, fit_float32

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


def check_keras(task: Any, use: str) -> None:
    """Raises ValueError unless the model is Keras', Keras uses TensorFlow, and both use float32."""
    import keras

    check_keras_model(task, use)
    backend, rule = keras.config.backend(), f"be 'tensorflow' for a model to be {use} (KERAS_BACKEND)"
    check("Keras", "backend", backend == "tensorflow", rule, backend)
    formats = {keras.config.floatx(), keras.config.dtype_policy().name}
    others = sorted((formats | {layer.dtype_policy.name for layer in task.model._flatten_layers()}) - {"float32"})
    way_out = "call keras.config.set_floatx('float32') and set_dtype_policy('float32'), then build it again"
    check(type(task).__name__, "model", not others, f"be float32, as Keras' settings, to be {use}: {way_out}", others)


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
    exact = [float(value) for value in values]
    if not fit_float32(exact):
        raise ValueError(f"{name} must {TOO_CLOSE}, got {exact[:2]}")
    return np.array(exact, "float32").reshape(-1, 1)


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


def read_class_weights(
    class_weights: Mapping[str, float] | Sequence[float] | None, labels: Sequence[str]
) -> Sequence[float] | None:
    """The weight of each label in the loss, from numbers in their order, or from label -> number, else 1."""
    if class_weights is None or not labels:
        return class_weights  # type: ignore[return-value]  # a task without labels refuses all
    if isinstance(class_weights, Mapping):
        for label in class_weights:
            label_number("each key of class_weights", label, labels)
        return read_class_weights([class_weights.get(label, 1.0) for label in labels], labels)
    as_numbers("class_weights", class_weights)
    return tuple(map(float, class_weights))


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
