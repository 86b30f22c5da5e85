"""Rows of several splits with nearly the same texts: planted ones are found, and treated as the setting says."""

import random
import re

import pytest

from components.dsl.errors import InputError
from components.examples.near_overlap import NearTexts, describe_near_overlap, resolve_near_overlap
from components.examples.registry import TASK_ROWS
from components.sources.questions import Question
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence

ROWS = TASK_ROWS["classification"]
SENTENCE = "one two three four five six seven eight nine"
SPLITS = {
    "train": [TextRow(SENTENCE, "a"), TextRow("something else in b", "b"), TextRow("a text of its own", "a")],
    "validation": [TextRow("One, two three four; five six seven eight nine!", "a"), TextRow("some other thing", "b")],
    "test": [TextRow("one two three four 5 six seven eight nine", "b"), TextRow("something else  in B", "b")],
}


def draw_texts(count: int, seed: int) -> list[list[str]]:
    """Sentences of 12 to 30 words, the commoner ones again and again."""
    chance = random.Random(seed)
    return [[f"w{int(chance.paretovariate(0.6))}" for _ in range(chance.randint(12, 30))] for _ in range(count)]


def disturb(words: list[str], chance: random.Random) -> str:
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


def test_planted_near_duplicates_are_found_and_new_texts_are_not() -> None:
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
def test_near_duplicates_share_their_pairs_of_words(text: str, near: bool) -> None:
    assert NearTexts([(SENTENCE, ""), ("???", "")]).has_near((text, "")) is near


def test_both_texts_of_a_pair_must_be_near() -> None:
    texts = NearTexts([(SENTENCE, "a question of five words")])
    assert texts.has_near((f"{SENTENCE}!", "a question of five words"))
    assert not texts.has_near((f"{SENTENCE}!", "something else that is asked"))
    assert not texts.has_near((f"{SENTENCE}!", ""))


def test_near_rows_are_counted_and_named() -> None:
    kept, counts = resolve_near_overlap(SPLITS, ROWS, "keep")
    assert kept == SPLITS
    assert counts == {"validation": {"train": 1}, "test": {"train": 1, "validation": 1}}
    assert list(describe_near_overlap(counts, {"validation": 2, "test": 2}, "texts")) == [
        "1 of 2 validation rows have nearly the texts of training rows",
        "1 of 2 test rows have nearly the texts of training rows",
        "1 of 2 test rows have nearly the texts of validation rows",
    ]
    assert resolve_near_overlap(SPLITS, ROWS, "off") == (SPLITS, {})


def test_near_rows_are_dropped_from_the_earlier_split() -> None:
    kept, counts = resolve_near_overlap(SPLITS, ROWS, "drop")
    assert kept == {"train": SPLITS["train"][1:], "validation": SPLITS["validation"][1:], "test": SPLITS["test"]}
    assert counts == {"validation": {"train": 0}, "test": {"train": 0, "validation": 0}}
    lost = {**SPLITS, "train": SPLITS["train"][:2]}
    with pytest.raises(InputError, match=r"^examples\.near_overlap must leave a training row of the label 'a', but"):
        resolve_near_overlap(lost, ROWS, "drop")


def test_near_rows_are_refused_in_one_line() -> None:
    clauses = "1 of 2 validation rows have nearly the texts of training rows; 1 of 2 test rows"
    with pytest.raises(InputError, match=rf"^examples\.near_overlap is 'error', and {re.escape(clauses)}[^\n]*$"):
        resolve_near_overlap(SPLITS, ROWS, "error")
    apart = {"train": SPLITS["train"], "test": [TextRow("nothing like it", "a")]}
    assert resolve_near_overlap(apart, ROWS, "error")[0] == apart


def test_words_and_contexts_are_texts_too() -> None:
    def tag(text: str) -> Sentence:
        return Sentence(tuple(text.split()), ("O",) * len(text.split()))

    tagged = {"train": [tag(SENTENCE)], "test": [tag(f"{SENTENCE} .")]}
    assert resolve_near_overlap(tagged, TASK_ROWS["token_classification"], "keep")[1] == {"test": {"train": 1}}
    questions = {
        "train": [Question("1", "who?", SENTENCE, ())],
        "test": [Question("2", "what?", f"{SENTENCE}.", ()), Question("3", "where?", "elsewhere", ())],
    }
    assert resolve_near_overlap(questions, TASK_ROWS["question_answering"], "keep")[1] == {"test": {"train": 1}}
