"""What n-grams tell: words of both texts, and as many as validation rows want."""

import pytest

from components.scoring import baselines
from components.scoring.baselines import classify_by_cosine, classify_by_ngrams, cosines, estimate_by_ngrams
from components.sources.table import TextRow


def test_n_grams_learn_words_of_both_texts():
    rows = [("ship", "sea"), ("sail ship", "sea"), ("cow", "farm"), ("cow barn", "farm")]
    train = [TextRow("this", label, text) for text, label in rows] * 5
    test = [TextRow("this", "farm", "barn"), TextRow("this", "sea", "sail")]
    assert classify_by_ngrams(train, train, test) == ["farm", "sea"]


def test_validation_rows_choose_among_words_and_characters():
    # As words all are different; only their ends tell.
    train = [TextRow(f"{stem}{end}", end) for stem in "abcdefgh" for end in ("ing", "ed")]
    test = [TextRow(f"{stem}{end}", end) for stem in "xyz" for end in ("ing", "ed")]
    assert classify_by_ngrams(train, test, test) == [row.label for row in test]


def test_numbers_are_learnt_from_words():
    train = [TextRow("ship " * many + "cow " * (4 - many), str(many)) for many in range(5)] * 4
    estimates = estimate_by_ngrams(train, train, train[:5])
    assert estimates == sorted(estimates)
    assert estimates[4] - estimates[0] > 2


def test_the_cosine_of_two_texts_counts_words_that_training_knows():
    train = [TextRow("ship sail", "", "cow barn")]
    rows = [TextRow("ship", "", "ship"), TextRow("ship", "", "cow"), TextRow("ship sail", "", "sail")]
    assert cosines(train, rows) == pytest.approx([1.0, 0.0, 0.5**0.5])
    assert cosines(train, [TextRow("tide", "", "tide")]) == [0.0]


def test_like_pairs_are_told_from_others():
    words = ("ship", "sail", "cow", "barn")
    train = [TextRow(first, "same" if first == other else "other", other) for first in words for other in words]
    # As many of each label: else the commoner one is the safer answer.
    train += [row for row in train if row.label == "same"] * 2
    assert classify_by_cosine(train, train) == [row.label for row in train]


def test_only_so_many_rows_are_learnt_from(monkeypatch):
    monkeypatch.setattr(baselines, "_MOST_ROWS", 2)
    other = TextRow("ship", "farm")
    train = [TextRow("ship", "sea"), other, TextRow("cow", "farm"), other]
    assert classify_by_ngrams(train, train[:3:2], train[:3:2]) == ["sea", "farm"]


def test_rows_sorted_by_label_are_learnt_from_evenly(monkeypatch):
    monkeypatch.setattr(baselines, "_MOST_ROWS", 6)
    train = [*[TextRow("ship", "sea", "sea")] * 8, *[TextRow("cow", "farm", "barn")] * 4]
    assert classify_by_ngrams(train, train, [train[0], train[-1]]) == ["sea", "farm"]


def test_words_of_one_letter_are_words():
    train = [TextRow("a b", "first"), TextRow("c d", "last")] * 4
    assert classify_by_ngrams(train, train, train[:2]) == ["first", "last"]
    numbers = [row._replace(label=str(number % 2)) for number, row in enumerate(train)]
    low, high = estimate_by_ngrams(numbers, numbers, numbers[:2])
    assert low < high


def test_texts_without_words_have_no_baseline():
    train = [TextRow("", "first"), TextRow(" ", "last")] * 4
    with pytest.raises(ValueError, match="empty vocabulary"):
        classify_by_ngrams(train, train, train)
