"""Sentences with two words swapped: which ones, where, and that a hash of the sentence decides."""

import collections

from hypothesis import given
from hypothesis import strategies as st

from components.sources.docstring_task import INTACT, SWAPPED, order_row, swap_words

WORDS = ("array", "Sums", "the", "a", "of", "can't", "well-known", "axes")


def test_two_neighbours_in_the_middle_change_places():
    # One place alone: the first word and the last one stay, and two that are alike are no swap.
    assert swap_words("Sums up the values.") == "Sums the up values."
    assert swap_words("Sums the The values all.") == "Sums the values The all."
    assert swap_words("Sums the The the all.") is None
    assert swap_words("Sums it.") is None
    # What stands around a word stays where it is.
    assert swap_words("Sums (up), 'the' values.") == "Sums (the), 'up' values."


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=16))
def test_a_swap_keeps_the_words_and_their_ends(words):
    sentence = " ".join(words) + "."
    swapped = swap_words(sentence)
    middle = words[1:-1]
    if swapped is None:
        assert len({word.lower() for word in middle}) <= 1
        return
    actual_words = swapped[:-1].split()
    (first, second) = (place for place in range(len(words)) if actual_words[place] != words[place])
    assert (second, actual_words[first], actual_words[second]) == (first + 1, words[second], words[first])
    assert first > 0
    assert second < len(words) - 1
    assert swap_words(sentence) == swapped


def test_a_hash_of_the_sentence_decides_for_half_of_them():
    sentences = [f"Sums {first} and {second} of all values." for first in WORDS for second in WORDS]
    rows = [row for sentence in sentences if (row := order_row(sentence, "numpy"))]
    assert rows == [order_row(sentence, "scipy") for sentence in sentences], "whose sentence it is tells nothing"
    counts = collections.Counter(row.label for row in rows)
    assert min(counts[INTACT], counts[SWAPPED]) > 0.3 * len(rows)
    for sentence, row in zip(sentences, rows, strict=True):
        assert row.text == (sentence if row.label == INTACT else swap_words(sentence))
    assert order_row("Sums the the all.", "numpy") is None
