"""The rules for the files attached to a model's file: its labels and its vocabulary."""

import json
from collections.abc import Iterator, Mapping

from keras_bert.core.folders import LABELS_TEXT, TASK_FILE, VOCABULARY_FILE
from keras_bert.export.rules.expected import Expected


def labels_of_task(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """The attached task has the labels of the training rows, in the order of the classes."""
    labels = json.loads(held[TASK_FILE]).get("labels", [])
    if expected.labels and tuple(labels) != expected.labels:
        yield f"labels of {TASK_FILE} must be {list(expected.labels)}, in this order, got {labels}"


def labels_of_mediapipe(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """MediaPipe's label file has the labels of the training rows."""
    if LABELS_TEXT in held and expected.labels:
        # MediaPipe splits lines at \n only: Unicode's other line ends are part of a label.
        labels = held[LABELS_TEXT].decode().removesuffix("\n").split("\n")
        if tuple(labels) != expected.labels:
            yield f"{LABELS_TEXT} must be {list(expected.labels)}, in this order, got {labels}"


def vocabulary(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """The attached vocabulary has as many entries as the vocabulary of the training rows."""
    size = held[VOCABULARY_FILE].count(b"\n")
    if size != expected.vocabulary_size:
        yield f"{VOCABULARY_FILE} must have {expected.vocabulary_size} entries, got {size}"


RULES = (labels_of_task, labels_of_mediapipe, vocabulary)
