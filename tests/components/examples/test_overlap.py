"""Rows of several splits: how they are counted, told, dropped and refused."""

import re

import pytest

from components.dsl.errors import InputError
from components.examples.overlap import check_overlap, count_overlap, describe_overlap, resolve_overlap
from components.examples.registry import TASK_ROWS
from components.sources.questions import Question
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence

ROWS = TASK_ROWS["classification"]
SPLITS = {
    "train": [TextRow("One text", "a"), TextRow("two", "b"), TextRow("three", "b"), TextRow("four", "a")],
    "validation": [TextRow("two ", "b"), TextRow("five", "a")],
    "test": [TextRow("one\u00ad  TEXT", "b"), TextRow("five", "a"), TextRow("five", "a"), TextRow("six", "b")],
}

SENTENCE = "one two three four five six seven eight nine"
NEAR_SPLITS = {
    "train": [TextRow(SENTENCE, "a"), TextRow("something else in b", "b"), TextRow("a text of its own", "a")],
    "validation": [TextRow("One, two three four; five six seven eight nine!", "a"), TextRow("some other thing", "b")],
    "test": [TextRow("one two three four 5 six seven eight nine", "b"), TextRow("something else  in B", "b")],
}


def test_rows_count_as_the_same_where_a_split_would_keep_them_together():
    assert count_overlap(SPLITS, ROWS.key) == {"validation": {"train": 1}, "test": {"train": 1, "validation": 2}}
    assert count_overlap({"train": SPLITS["train"], "test": SPLITS["test"]}, ROWS.key) == {"test": {"train": 1}}


def test_both_texts_of_a_pair_count_and_of_other_tasks_all_words_or_the_context():
    pairs = {"train": [TextRow("a", "x", "b")], "test": [TextRow("a", "x", "c"), TextRow("a", "y", "B")]}
    assert count_overlap(pairs, ROWS.key) == {"test": {"train": 1}}
    words = {"train": [Sentence(("EU", "rejects"), ("O", "O"))], "test": [Sentence(("eu", "rejects"), ("O", "O"))]}
    assert count_overlap(words, TASK_ROWS["token_classification"].key) == {"test": {"train": 1}}
    questions = {split: [Question(split, f"{split}?", "a context", ())] for split in ("train", "test")}
    assert count_overlap(questions, TASK_ROWS["question_answering"].key) == {"test": {"train": 1}}


@pytest.mark.parametrize("task", ["classification", "multi_label", "regression", "embedding"])
def test_a_swapped_pair_is_the_same_pair(task):
    rows = {"train": [TextRow("a cow", "1", "B")], "test": [TextRow("b", "1", "A  cow"), TextRow("b", "1", "b")]}
    assert count_overlap(rows, TASK_ROWS[task].key) == {"test": {"train": 1}}


def test_a_nearly_equal_swapped_pair_is_near():
    key, words = TASK_ROWS["classification"].key, "one two three four five six seven eight"
    train, test = TextRow(f"m {words}", "a", f"n {words}"), TextRow(f"n {words} z", "a", f"a {words}")
    assert count_overlap({"train": [train], "test": [test]}, key, "near") == {"test": {"train": 1}}


def test_what_is_shared_is_told_with_its_share():
    overlap = {"validation": {"train": 1}, "test": {"train": 0, "validation": 2}}
    assert describe_overlap(overlap, {"validation": 2, "test": 4}, "contexts") == [
        "1 of 2 validation rows have their contexts in training rows, too",
        "2 of 4 test rows have their contexts in validation rows, too",
    ]


def test_rows_are_dropped_from_the_earlier_split():
    assert resolve_overlap(SPLITS, ROWS, "in", "keep")[0] == SPLITS
    kept, counts = resolve_overlap(SPLITS, ROWS, "in", "drop")
    assert {split: [row.text for row in rows] for split, rows in kept.items()} == {
        "train": ["three", "four"],
        "validation": ["two "],
        "test": [row.text for row in SPLITS["test"]],
    }
    assert counts == {"validation": {"train": 0}, "test": {"train": 0, "validation": 0}}


def test_a_label_must_keep_a_row_for_training():
    splits = {"train": [TextRow("one", "a"), TextRow("two", "b")], "test": [TextRow("two", "b")]}
    with pytest.raises(
        InputError, match=r"^examples\.overlap must leave a training row of the label 'b', but the texts"
    ):
        resolve_overlap(splits, ROWS, "in", "drop")


def test_splits_that_may_share_nothing():
    check_overlap({**SPLITS, "validation": [], "test": SPLITS["test"][3:]}, ROWS, "in")
    message = (
        "examples.overlap is 'error', and 1 of 2 validation rows have their texts in training rows, too; 1 of 4 test "
        "rows have their texts in training rows, too; 2 of 4 test rows have their texts in validation rows, too; "
        "remove them, or set examples.overlap to 'drop' or 'keep'"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        resolve_overlap(SPLITS, ROWS, "in", "error")


def test_near_rows_are_counted_and_named():
    kept, counts = resolve_overlap(NEAR_SPLITS, ROWS, "near", "keep")
    assert kept == NEAR_SPLITS
    assert counts == {"validation": {"train": 1}, "test": {"train": 1, "validation": 1}}
    assert describe_overlap(counts, {"validation": 2, "test": 2}, "texts", "near") == [
        "1 of 2 validation rows have nearly the texts of training rows",
        "1 of 2 test rows have nearly the texts of training rows",
        "1 of 2 test rows have nearly the texts of validation rows",
    ]
    assert resolve_overlap(NEAR_SPLITS, ROWS, "near", "off") == (NEAR_SPLITS, {})


def test_near_rows_are_dropped_from_the_earlier_split():
    kept, counts = resolve_overlap(NEAR_SPLITS, ROWS, "near", "drop")
    assert kept == {
        "train": NEAR_SPLITS["train"][1:],
        "validation": NEAR_SPLITS["validation"][1:],
        "test": NEAR_SPLITS["test"],
    }
    assert counts == {"validation": {"train": 0}, "test": {"train": 0, "validation": 0}}
    lost = {**NEAR_SPLITS, "train": NEAR_SPLITS["train"][:2]}
    with pytest.raises(InputError, match=r"^examples\.near_overlap must leave a training row of the label 'a', but"):
        resolve_overlap(lost, ROWS, "near", "drop")


def test_near_rows_are_refused_in_one_line():
    clauses = "1 of 2 validation rows have nearly the texts of training rows; 1 of 2 test rows"
    with pytest.raises(InputError, match=rf"^examples\.near_overlap is 'error', and {re.escape(clauses)}[^\n]*$"):
        resolve_overlap(NEAR_SPLITS, ROWS, "near", "error")
    apart = {"train": NEAR_SPLITS["train"], "test": [TextRow("nothing like it", "a")]}
    assert resolve_overlap(apart, ROWS, "near", "error")[0] == apart


def test_words_and_contexts_are_texts_too():
    def tag(text):
        return Sentence(tuple(text.split()), ("O",) * len(text.split()))

    tagged = {"train": [tag(SENTENCE)], "test": [tag(f"{SENTENCE} .")]}
    assert resolve_overlap(tagged, TASK_ROWS["token_classification"], "near", "keep")[1] == {"test": {"train": 1}}
    questions = {
        "train": [Question("1", "who?", SENTENCE, ())],
        "test": [Question("2", "what?", f"{SENTENCE}.", ()), Question("3", "where?", "elsewhere", ())],
    }
    assert resolve_overlap(questions, TASK_ROWS["question_answering"], "near", "keep")[1] == {"test": {"train": 1}}
