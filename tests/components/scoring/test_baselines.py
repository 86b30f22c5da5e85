"""What n-grams tell: words of both texts, and as many as validation rows want."""

import pytest

from components.scoring import baselines
from components.scoring.baselines import classify_by_cosine, classify_by_ngrams, cosines, estimate_by_ngrams
from components.sources.table import TextRow


def test_n_grams_learn_words_of_both_texts() -> None:
    rows = [("ship", "sea"), ("sail ship", "sea"), ("cow", "farm"), ("cow barn", "farm")]
    train = [TextRow("this", label, text) for text, label in rows] * 5
    test = [TextRow("this", "farm", "barn"), TextRow("this", "sea", "sail")]
    assert classify_by_ngrams(train, train, test) == ["farm", "sea"]


def test_validation_rows_choose_among_words_and_characters() -> None:
    # As words all are different; only their ends tell.
    train = [TextRow(f"{stem}{end}", end) for stem in "abcdefgh" for end in ("ing", "ed")]
    test = [TextRow(f"{stem}{end}", end) for stem in "xyz" for end in ("ing", "ed")]
    assert classify_by_ngrams(train, test, test) == [row.label for row in test]


def test_numbers_are_learnt_from_words() -> None:
    train = [TextRow("ship " * many + "cow " * (4 - many), str(many)) for many in range(5)] * 4
    found = estimate_by_ngrams(train, train, train[:5])
    assert found == sorted(found)
    assert found[4] - found[0] > 2


def test_the_cosine_of_two_texts_counts_words_that_training_knows() -> None:
    train = [TextRow("ship sail", "", "cow barn")]
    rows = [TextRow("ship", "", "ship"), TextRow("ship", "", "cow"), TextRow("ship sail", "", "sail")]
    assert cosines(train, rows) == pytest.approx([1.0, 0.0, 0.5**0.5])
    assert cosines(train, [TextRow("tide", "", "tide")]) == [0.0]


def test_like_pairs_are_told_from_others() -> None:
    words = ("ship", "sail", "cow", "barn")
    train = [TextRow(first, "same" if first == other else "other", other) for first in words for other in words]
    # As many of each label: else the commoner one is the safer answer.
    train += [row for row in train if row.label == "same"] * 2
    assert classify_by_cosine(train, train) == [row.label for row in train]


def test_only_so_many_rows_are_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "_MOST_ROWS", 2)
    train = [TextRow("ship", "sea"), TextRow("cow", "farm"), *[TextRow("ship", "farm")] * 9]
    assert classify_by_ngrams(train, train[:2], train[:2]) == ["sea", "farm"]
