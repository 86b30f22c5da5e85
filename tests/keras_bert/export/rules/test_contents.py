"""Rules of what travels inside a file, each with a fault that was planted."""

import json

import pytest

from keras_bert.export import lint
from keras_bert.export.rules.expected import Expected

EXPECTED = Expected(3, ("no", "yes"))
HELD = {"task.json": b'{"labels": ["no", "yes"]}', "labels.txt": b"no\nyes\n", "vocab.txt": b"a\nb\nc\n"}


def task(*labels):
    return {"task.json": json.dumps({"labels": labels}).encode()}


def test_what_fits_keeps_every_rule():
    assert not [breach for rule in lint.ATTACHMENT_RULES for breach in rule(HELD, EXPECTED)]
    numbers = {"task.json": b"{}", "vocab.txt": b"a\nb\nc\n"}
    assert not [breach for rule in lint.ATTACHMENT_RULES for breach in rule(numbers, Expected(3))], "without labels"


@pytest.mark.parametrize("labels", [("yes", "no"), ("no",), ()])
def test_labels_that_are_swapped_or_missing_are_found(labels):
    (breach,) = lint.labels_of_task(HELD | task(*labels), EXPECTED)
    assert breach == f"labels of task.json must be ['no', 'yes'], in this order, got {list(labels)}"


def test_labels_for_mediapipe_that_are_swapped_are_found():
    (breach,) = lint.labels_of_mediapipe(HELD | {"labels.txt": b"yes\nno\n"}, EXPECTED)
    assert breach == "labels.txt must be ['no', 'yes'], in this order, got ['yes', 'no']"


def test_labels_for_mediapipe_may_hold_other_line_ends_of_unicode():
    labels = ("a\u2028b", "c\x85d", "e\v")
    held = HELD | task(*labels) | {"labels.txt": "".join(f"{label}\n" for label in labels).encode()}
    assert not list(lint.labels_of_mediapipe(held, Expected(3, labels)))


def test_another_vocabulary_is_found():
    (breach,) = lint.vocabulary(HELD, Expected(4))
    assert breach == "vocab.txt must have 4 entries, got 3"
