"""Texts that are nearly the same: planted ones are found, others are not."""

import random

import pytest

from components.examples.near_texts import NearTexts

SENTENCE = "one two three four five six seven eight nine"


def draw_texts(count, seed):
    """Sentences of 12 to 30 words, the commoner ones again and again."""
    chance = random.Random(seed)
    return [[f"w{int(chance.paretovariate(0.6))}" for _ in range(chance.randint(12, 30))] for _ in range(count)]


def disturb(words, chance):
    """A near duplicate: another word, one more, one less, or two that have changed places, and other marks."""
    words, place = list(words), chance.randrange(1, len(words) - 1)
    change = chance.choice(("replace", "insert", "delete", "none"))
    if change == "replace":
        words[place] = "other"
    elif change == "insert":
        words.insert(place, "other")
    elif change == "delete":
        del words[place]
    text = " ".join(words)
    return chance.choice((text.upper(), f"{text}!", f"({text})", text.replace(" ", "  ") + " ..."))


def test_planted_near_duplicates_are_found_and_new_texts_are_not():
    chance = random.Random(1)
    train = draw_texts(1000, 2)
    texts = NearTexts([(" ".join(words), "") for words in train])
    planted = [disturb(words, chance) for words in chance.sample(train, 200)]
    # Some only differ in letter case or blanks: those count as the same texts.
    others = {" ".join(words) for words in train}
    planted = [text for text in planted if " ".join(text.lower().split()) not in others]
    matches = sum(texts.has_near((text, "")) for text in planted)
    assert matches >= 0.95 * len(planted) > 150
    assert not any(texts.has_near((" ".join(words), "")) for words in draw_texts(200, 3))


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (SENTENCE, False),  # the same, which is counted apart
        (SENTENCE.upper(), False),
        (f"{SENTENCE}.", True),
        ("one two three four 5 six seven eight nine", True),  # 6 of 10 pairs of words
        ("one two 3 four five 6 seven eight nine", False),  # 4 of 12
        ("one two three four five", False),  # half of them
        ("", False),
        ("...", False),
    ],
)
def test_near_duplicates_share_their_pairs_of_words(text, near):
    assert NearTexts([(SENTENCE, ""), ("???", "")]).has_near((text, "")) is near


def test_both_texts_of_a_pair_must_be_near():
    texts = NearTexts([(SENTENCE, "a question of five words")])
    assert texts.has_near((f"{SENTENCE}!", "a question of five words"))
    assert not texts.has_near((f"{SENTENCE}!", "something else that is asked"))
    assert not texts.has_near((f"{SENTENCE}!", ""))
