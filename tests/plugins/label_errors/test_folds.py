"""Folds: no row is judged by a model that learnt from it, or from nearly its text, and every fold has every label."""

import random
from collections import Counter

import pytest

from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence
from plugins.label_errors.folds import assign_rows, check_folds

TEXTS, SETS, TAGS = (TASK_ROWS[name] for name in ("classification", "multi_label", "token_classification"))
WORDS = [f"w{number}" for number in range(400)]


def draw_texts(count, seed=0, length=12):
    chance = random.Random(seed)
    return [" ".join(chance.sample(WORDS, length)) for _ in range(count)]


def draw_rows(*counts):
    """Rows of labels a, b, ... in these numbers."""
    labels = [label for label, count in zip("abcdef", counts, strict=False) for _ in range(count)]
    return [TextRow(text, label) for text, label in zip(draw_texts(len(labels)), labels, strict=True)]


def test_every_fold_has_its_part_of_each_label():
    rows = draw_rows(53, 20, 5)
    folds = assign_rows(rows, TEXTS, 5, 0, near=True)
    counts = Counter((row.label, fold) for row, fold in zip(rows, folds, strict=True))
    assert sorted(counts["a", fold] for fold in range(5)) == [10, 10, 11, 11, 11]
    assert {counts[label, fold] for label, size in (("b", 4), ("c", 1)) for fold in range(5)} == {4, 1}
    assert max(Counter(folds).values()) - min(Counter(folds).values()) <= 1


def test_equal_and_nearly_equal_texts_stay_together():
    rows = draw_rows(60, 60)
    near = [
        row._replace(text=row.text.rsplit(" ", 1)[0] + " other", label="ab"[number % 2])
        for number, row in enumerate(rows)
    ]
    equal = [row._replace(text=f" {row.text.upper()}\n") for row in rows]
    folds = assign_rows(rows + near + equal, TEXTS, 4, 0, near=True)
    assert folds[:120] == folds[120:240] == folds[240:]
    apart = assign_rows(rows + near + equal, TEXTS, 4, 0, near=False)
    assert apart[:120] == apart[240:] != apart[120:240]


def test_pairs_that_share_a_text_stay_together(caplog):
    rows = [TextRow(f"premise {row}", label, f"{label} {row}") for row in range(40) for label in "abc"]
    folds = assign_rows(rows, TEXTS, 4, 0, near=False)
    assert folds[::3] == folds[1::3] == folds[2::3]
    assert not caplog.records
    assign_rows([row._replace(second_text="why?") for row in rows], TEXTS, 4, 0, near=False)
    assert [record.getMessage() for record in caplog.records] == [
        "1 texts are in rows of several folds, as too many rows share them for one fold"
    ]


def test_texts_that_are_near_to_one_between_them_stay_together():
    """The first and the last share too few words to be near to each other."""
    words = draw_texts(1, length=20)[0].split()
    chain = [" ".join([*(f"new{place}" for place in range(cut)), *words[cut:]]) for cut in range(0, 16, 3)]
    rows = [*(TextRow(text, "a") for text in chain), *draw_rows(30, 30)]
    assert len(set(assign_rows(rows, TEXTS, 3, 0, near=True)[: len(chain)])) == 1


def test_the_order_of_rows_does_not_matter_but_the_seed_does():
    rows = draw_rows(40, 30)
    folds = dict(zip(rows, assign_rows(rows, TEXTS, 5, 0, near=True), strict=True))
    mixed = random.Random(1).sample(rows, len(rows))
    assert dict(zip(mixed, assign_rows(mixed, TEXTS, 5, 0, near=True), strict=True)) == folds
    assert dict(zip(rows, assign_rows(rows, TEXTS, 5, 1, near=True), strict=True)) != folds


def test_rows_of_several_labels_or_tags_spread_each_of_them():
    chance = random.Random(0)
    sets = [
        LabelSetRow(text, tuple(sorted(chance.sample("abcdefgh", chance.randrange(4))))) for text in draw_texts(200)
    ]
    folds = assign_rows(sets, SETS, 5, 0, near=True)
    for label in "abcdefgh":
        counts = Counter(fold for row, fold in zip(sets, folds, strict=True) if label in row.labels)
        assert len(counts) == 5
        assert max(counts.values()) <= 2 * min(counts.values())
    tags = ["O", *("O",) * 8, "B-x", "B-y"]
    sentences = [Sentence(tuple(text.split()), tuple(chance.choices(tags, k=12))) for text in draw_texts(60)]
    folds = assign_rows(sentences, TAGS, 3, 0, near=True)
    for tag in set(tags):
        assert {fold for row, fold in zip(sentences, folds, strict=True) if tag in row.tags} == {0, 1, 2}


@pytest.mark.parametrize(
    ("count", "advice"), [(4, "; lower folds to 4, add"), (1, "; add rows of that label or leave it out")]
)
def test_a_label_with_fewer_rows_than_folds_is_refused(count, advice):
    message = (
        f"label_errors.folds must be at most the number of different texts of each label, got 5 beside {count} of 'b'"
    )
    rows = draw_rows(30, count)
    for refuse in (lambda: check_folds(rows, TEXTS, 5), lambda: assign_rows(rows, TEXTS, 5, 0, near=False)):
        with pytest.raises(InputError) as error:
            refuse()
        assert str(error.value).startswith(message + advice)


def test_copies_of_a_text_count_once():
    rows = draw_rows(30, 4)
    with pytest.raises(InputError, match="beside 4 of 'b'"):
        check_folds([*rows, rows[-1], rows[-1]], TEXTS, 5)
    near = [rows[-1]._replace(text=f"{rows[-1].text} {word}") for word in ("one", "two")]
    check_folds([*rows, *near], TEXTS, 5)
    with pytest.raises(InputError, match="each label, of which nearly equal ones count once, got 5 beside 4 of 'b'"):
        assign_rows([*rows, *near], TEXTS, 5, 0, near=True)


def test_a_label_whose_rows_all_came_to_one_fold_is_refused(monkeypatch):
    monkeypatch.setattr("plugins.label_errors.folds._deal", lambda order, *_: dict.fromkeys(order, 0))
    with pytest.raises(InputError, match="all of 'a' came to one; choose another seed"):
        assign_rows(draw_rows(9, 9), TEXTS, 2, 0, near=False)
