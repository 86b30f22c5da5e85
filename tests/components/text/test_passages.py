"""Texts inside longer ones: planted ones are found wherever they stand, and strangers are not."""

import random

import pytest

from components.text.near_duplicates import hash_words
from components.text.passages import PassageIndex

WORDS = [f"word{number}" for number in range(2000)]


def draw(chance, length):
    return chance.choices(WORDS, k=length)


def change(words, chance, kind):
    place = chance.randrange(1, len(words) - 1)
    return {
        "replaced": [*words[:place], "other", *words[place + 1 :]],
        "added": [*words[:place], "other", *words[place:]],
        "left out": [*words[:place], *words[place + 1 :]],
    }[kind]


@pytest.mark.parametrize("kind", ["replaced", "added", "left out"])
def test_planted_near_duplicates_are_found(kind):
    chance = random.Random(0)
    texts = [draw(chance, chance.randint(10, 40)) for _ in range(300)]
    index = PassageIndex([" ".join(text) for text in texts], 0.6)
    hits = 0
    for number, text in enumerate(texts):
        before, planted = draw(chance, chance.randrange(50)), change(text, chance, kind)
        document = [*before, *planted, *draw(chance, 30)]
        passages = index.find(hash_words(" ".join(document)))
        hits += any(
            passage.number == number and not passage.is_equal and abs(passage.start - len(before)) <= 1
            for passage in passages
        )
        assert {passage.number for passage in passages} <= {number}
    assert hits >= 0.95 * len(texts)


def test_equal_texts_are_found_at_each_of_their_places():
    chance = random.Random(1)
    text = draw(chance, 9)
    document = [*draw(chance, 5), *text, *draw(chance, 3), *text]
    index = PassageIndex(["something else with some further words", " ".join(text)], 0.6)
    passages = [tuple(passage) for passage in index.find(hash_words(" ".join(document))) if passage.is_equal]
    assert passages == [(1, 5, 14, True), (1, 17, 26, True)]


def test_letter_case_and_punctuation_do_not_matter():
    index = PassageIndex(["The cow, it went over the hill."], 0.6)
    assert [passage.is_equal for passage in index.find(hash_words("so THE COW it went (over the hill) today"))] == [
        True
    ]


def test_at_both_ends_of_a_text():
    index = PassageIndex(["one two three four five six seven eight nine"], 0.6)
    for words in ("one two three four five six seven eight", "two three four five six seven eight nine"):
        (passage, *_) = index.find(hash_words(words))
        assert (passage.start, passage.stop, passage.is_equal) == (0, 8, False)


@pytest.mark.parametrize("text", ["", "one", "quite another text of some words"])
def test_strangers_are_not_found(text):
    index = PassageIndex(["one two three four five six seven eight nine"], 0.6)
    assert index.find(hash_words(text)) == []
    assert PassageIndex([], 0.6).find(hash_words(text)) == []
