"""The rules of Gopher with figures counted by hand, and against a form that counts n-grams one by one."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from components.corpus.repetition import find_repetition

# A hundred words of one character each, none of which is a letter of the tests.
WORDS = [chr(0x4E00 + number) for number in range(100)]


@pytest.mark.parametrize("text", ["x", "\n\nx\n \n", "one two\nthree", "a b\na c"])
@pytest.mark.parametrize("ngrams", [False, True])
def test_text_without_repetition_is_kept(text, ngrams):
    assert find_repetition(text, ngrams=ngrams) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # 1 of 3 lines; blank lines and white space around a line are nothing.
        ("a\n\n\n  b\n\ta \n", "33% duplicate lines, the maximum is 30%"),
        ("ä\nä", "50% duplicate lines, the maximum is 30%"),
        # The accent as a character of its own is another text; so are letters of another case.
        ("\u00e4\na\u0308\n\u00c4", None),
        # 1 of 7 lines, with 1 of 7 characters, but 1 of 3 paragraphs.
        ("a\n\na\n \t\nb\nc\nd\ne\nf", "33% duplicate paragraphs, the maximum is 30%"),
        # 1 of 4 paragraphs, with 5 of 23 characters; of lines, whose ends do not count, 3 of 16 characters.
        ("a\nb\nc\n\na\nb\nc\n\ndd\nee\nff\n\ngg\nhh", "22% characters in duplicate paragraphs, the maximum is 20%"),
        # 1 of 5 lines has 2 of 10 characters: as much as is allowed.
        ("ab\nab\ncd\nef\ngh", None),
        ("ab\nab\ncd\nef\ng", "22% characters in duplicate lines, the maximum is 20%"),
        # Three copies are two duplicates.
        ("a\na\na\nbcdefg\nhijklm\nnopqrs\ntuvwxy", None),
        ("a\na\na\nbcdefg\nhijklm\nnopqrs", "33% duplicate lines, the maximum is 30%"),
    ],
)
def test_lines_and_paragraphs_by_hand(text, reason):
    assert find_repetition(text, ngrams=False) == reason


@pytest.mark.parametrize(
    ("size", "total", "reason"),
    [
        (2, 20, None),
        (2, 19, "21% characters in the most frequent 2-gram, the maximum is 20%"),
        (3, 34, None),
        (3, 33, "18% characters in the most frequent 3-gram, the maximum is 18%"),
        (4, 50, None),
        (4, 49, "16% characters in the most frequent 4-gram, the maximum is 16%"),
        # Both copies count above, and only the second one from here on.
        (16, 100, "16% characters in duplicate 5-grams, the maximum is 15%"),
        (15, 100, "15% characters in duplicate 6-grams, the maximum is 14%"),
        (14, 100, "14% characters in duplicate 7-grams, the maximum is 13%"),
        (13, 100, "13% characters in duplicate 8-grams, the maximum is 12%"),
        (12, 100, "12% characters in duplicate 9-grams, the maximum is 11%"),
        (11, 100, "11% characters in duplicate 10-grams, the maximum is 10%"),
        (10, 100, None),
    ],
)
def test_a_run_of_words_that_stands_twice(size, total, reason):
    words = WORDS[: total - size]
    assert find_repetition(" ".join([*words, *words[:size]]), ngrams=True) == reason
    assert find_repetition(" ".join([*words, *words[:size]]), ngrams=False) is None


def test_long_words_weigh_more_and_white_space_nothing():
    # 2 copies of 4 characters among 8 + 32, and then 31 others.
    assert find_repetition("aaa b " + " ".join(WORDS[:32]) + " aaa\t\n  b", ngrams=True) is None
    repetition = find_repetition("aaa b " + " ".join(WORDS[:31]) + " aaa\t\n  b", ngrams=True)
    assert repetition == "21% characters in the most frequent 2-gram, the maximum is 20%"
    # Of several that are as frequent the longest counts.
    repetition = find_repetition("a b c ddd " + " ".join(WORDS[:26]) + " a b x c ddd", ngrams=True)
    assert repetition == "21% characters in the most frequent 2-gram, the maximum is 20%"


def test_the_first_rule_that_is_broken_is_told():
    text = "one two three four five six seven eight nine ten\n" * 2
    assert find_repetition(text, ngrams=True) == "50% duplicate lines, the maximum is 30%"


def naive(words):
    """What the rules about n-grams say, counted one by one; assumes that no copy overlaps another one."""
    total = sum(map(len, words))
    for n, most in ((2, 20), (3, 18), (4, 16)):
        counts = Counter(tuple(words[place : place + n]) for place in range(len(words) - n + 1))
        top = max(counts.values(), default=0)
        if top > 1:
            size = max(len("".join(gram)) for gram, count in counts.items() if count == top)
            if Fraction(size * top, total) > Fraction(most, 100):
                return f"{size * top / total:.0%} characters in the most frequent {n}-gram, the maximum is {most}%"
    for n in range(5, 11):
        seen, covered = set(), set()
        for place in range(len(words) - n + 1):
            gram = tuple(words[place : place + n])
            if gram in seen:
                covered.update(range(place, place + n))
            seen.add(gram)
        size = sum(len(words[place]) for place in covered)
        if Fraction(size, total) > Fraction(20 - n, 100):
            return f"{size / total:.0%} characters in duplicate {n}-grams, the maximum is {20 - n}%"
    return None


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 14)), min_size=1, max_size=9),
    st.lists(st.integers(1, 4), min_size=75, max_size=75),
)
def test_copied_runs_are_found_as_the_naive_form_finds_them(runs, sizes):
    words = [chr(0x4E00 + number) * size for number, size in enumerate(sizes)]
    text = [*words, *(word for start, length in runs for word in words[start : start + length])]
    # A word that follows itself would make copies that overlap.
    assume(all(text[place] not in text[place + 1 : place + 5] for place in range(len(text))))
    assert find_repetition(" ".join(text), ngrams=True) == naive(text)
