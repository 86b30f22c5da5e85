import random
from collections import Counter, defaultdict

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from components.dsl.errors import InputError
from components.examples.splits import carve
from components.sources.table import TextRow


def texts_of(rows: list[TextRow]) -> set[str]:
    return {row.text for row in rows}


def test_nothing_is_taken_where_nothing_is_missing() -> None:
    rows = [TextRow("b", "x"), TextRow("a", "y", "ü"), TextRow("b", "x")]
    assert {split: Counter(part) for split, part in carve(rows, []).items()} == {"train": Counter(rows)}
    assert carve([], []) == {"train": []}


def test_a_text_keeps_its_split_from_one_version_to_the_next() -> None:
    # Written down once: another hash would move rows between training and test of data that somebody measured on.
    splits = carve([TextRow(f"text {number}", "ab"[number % 2]) for number in range(20)], ["validation", "test"])
    assert texts_of(splits["validation"]) == {"text 7", "text 16"}
    assert texts_of(splits["test"]) == {"text 10", "text 19"}


@pytest.mark.parametrize(("size", "held"), [(6, 1), (14, 1), (16, 2), (24, 2), (100, 10)])
def test_each_missing_split_takes_a_tenth_of_every_label(size: int, held: int) -> None:
    rows = [TextRow(f"{label}{number}", label) for label in "ab" for number in range(size * (1 + (label == "b")))]
    splits = carve(rows, ["validation", "test"])
    counts = {split: Counter(row.label for row in part) for split, part in splits.items()}
    assert counts["validation"] == counts["test"]
    assert counts["test"]["a"] == held
    assert counts["test"]["b"] == round(size / 5)
    assert counts["train"] == {"a": size - 2 * held, "b": 2 * size - 2 * round(size / 5)}


def test_the_second_text_makes_another_pair() -> None:
    rows = [TextRow("one text", "a", f"second {number}") for number in range(10)]
    splits = carve(rows, ["test"])
    assert (len(splits["train"]), len(splits["test"])) == (9, 1)
    assert {*splits["train"], *splits["test"]} == set(rows)


def test_rows_that_are_the_same_count_once_and_all_stay() -> None:
    rows = [TextRow(f"text {number}", "a") for number in range(6)]
    splits = carve(rows * 50, ["test"])
    assert len(texts_of(splits["test"])) == 1
    assert {split: len(part) for split, part in splits.items()} == {"train": 250, "test": 50}


ROWS = st.lists(st.builds(TextRow, st.text(max_size=2), st.sampled_from("ab"), st.none()), max_size=60)


@settings(max_examples=50, deadline=None)
@given(ROWS, st.sampled_from([["test"], ["validation", "test"]]), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_and_none_is_lost(
    rows: list[TextRow], missing: list[str], generator: random.Random
) -> None:
    rows = [*rows, *(TextRow(f"own text {number}", label) for number in range(6) for label in "ab")]
    try:
        splits = carve(rows, missing)
    except InputError:
        assume(False)
    assert list(splits) == ["train", *missing]
    assert Counter(row for part in splits.values() for row in part) == Counter(rows)
    places = defaultdict(set)
    for split, part in splits.items():
        for row in part:
            places[row.text].add(split)
    assert all(len(found) == 1 for found in places.values()), "equal texts come to the same split"
    assert carve(generator.sample(rows, len(rows)), missing) == splits


@pytest.mark.parametrize("missing", [["test"], ["validation", "test"]])
@pytest.mark.parametrize("rows", [[], [TextRow(f"text {number}", "a") for number in range(5)] * 9])
def test_five_texts_of_a_label_are_too_few(rows: list[TextRow], missing: list[str]) -> None:
    with pytest.raises(InputError) as error:
        carve(rows, missing)
    assert str(error.value) == (
        f"taking a {missing[0]} part out of the training rows needs a label with at least 6 different texts, "
        f"got {len(set(rows))} texts in all; add rows or give a {missing[0]} table"
    )


def test_a_label_all_of_whose_texts_are_taken_is_named_with_the_splits() -> None:
    rows = [TextRow(f"text {number}", "a") for number in range(20)]
    splits = carve(rows, ["validation", "test"])
    shared = [TextRow(splits[split][0].text, label) for split, label in (("test", "c"), ("validation", "b"))]
    with pytest.raises(InputError) as error:
        carve([*rows, *shared], ["validation", "test"])
    assert str(error.value) == (
        "the label 'b' must keep a row for training, but all its texts also bear other labels and were taken for "
        "validation and test; add texts of that label alone"
    )
