"""Unlabelled texts that validation or test rows have."""

import pytest

from components.dsl.errors import InputError
from components.examples.overlap import resolve_leaks
from components.examples.registry import TASK_ROWS
from components.sources.table import TextRow

SENTENCE = "one two three four five six seven eight nine"
SPLITS = {
    "train": [TextRow("a text of training", "a")],
    "validation": [TextRow("a text of validation", "a")],
    "test": [TextRow(SENTENCE, "b")],
}
TEXTS = ["a text of training", "A text of validation", f"{SENTENCE}.", "new"]


def resolve(texts=TEXTS, **settings):
    return resolve_leaks(
        texts, SPLITS, TASK_ROWS["classification"], **{"overlap": "keep", "near_overlap": "keep", **settings}
    )


def test_texts_are_counted_by_split():
    assert resolve() == (TEXTS, {"unlabelled_in_validation": 1, "unlabelled_near_test": 1})
    assert resolve(near_overlap="off") == (TEXTS, {"unlabelled_in_validation": 1})


@pytest.mark.parametrize(("setting", "dropped"), [("overlap", TEXTS[1]), ("near_overlap", TEXTS[2])])
def test_each_setting_drops_its_texts(setting, dropped):
    kept, _ = resolve(**{setting: "drop"})
    assert kept == [text for text in TEXTS if text != dropped]


@pytest.mark.parametrize(
    ("setting", "clause"),
    [
        ("overlap", "1 of 4 unlabelled texts are those of validation rows"),
        ("near_overlap", "1 of 4 unlabelled texts are nearly those of test rows"),
    ],
)
def test_each_setting_refuses_its_texts(setting, clause):
    with pytest.raises(InputError) as raised:
        resolve(**{setting: "error"})
    advice = f"remove them, or set examples.{setting} to 'drop' or 'keep'"
    assert str(raised.value) == f"examples.{setting} is 'error', and {clause}; {advice}"


def test_a_text_must_be_left():
    with pytest.raises(InputError, match=r"^unlabelled must hold a text that no validation or test row has, got none"):
        resolve([SENTENCE], overlap="drop")
