"""The rules of what travels inside a file: the labels and the vocabulary that it was made with."""

import json
from collections.abc import Iterator, Mapping

from keras_bert.export.rules.expected import Expected
from keras_bert.folders import LABELS_TEXT, TASK_FILE, VOCABULARY_FILE


def labels_of_task(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """The task in the file names the labels of the rows, in the order of their numbers."""
    known = json.loads(held[TASK_FILE]).get("labels", [])
    if expected.labels and tuple(known) != expected.labels:
        yield f"labels of {TASK_FILE} must be {list(expected.labels)}, in this order, got {known}"


def labels_of_mediapipe(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """So do the labels that MediaPipe reads."""
    if LABELS_TEXT in held and expected.labels:
        known = held[LABELS_TEXT].decode().splitlines()
        if tuple(known) != expected.labels:
            yield f"{LABELS_TEXT} must be {list(expected.labels)}, in this order, got {known}"


def vocabulary(held: Mapping[str, bytes], expected: Expected) -> Iterator[str]:
    """The vocabulary in the file has as many pieces as the one that the rows were made with."""
    pieces = held[VOCABULARY_FILE].count(b"\n")
    if pieces != expected.pieces:
        yield f"{VOCABULARY_FILE} must have {expected.pieces} pieces, got {pieces}"


RULES = (labels_of_task, labels_of_mediapipe, vocabulary)
