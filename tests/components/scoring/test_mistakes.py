"""The worst answers of each task, in an order that can be told by hand."""

import pytest

from components.scoring.classification import ClassificationScoring
from components.scoring.mistakes import MOST_ROWS, Mistake, cut, cut_words
from components.scoring.question_answering import QuestionScoring
from components.scoring.regression import EmbeddingScoring, RegressionScoring
from components.scoring.token_classification import TaggedScoring
from components.sources.questions import Question
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence


def test_wrong_labels_stand_by_their_confidence():
    rows = [TextRow("a", "no"), TextRow("b", "no"), TextRow("c", "yes", "d"), TextRow("e", "yes")]
    mistakes = ClassificationScoring().mistakes(rows, ["no", "yes", "no", "no"], [0.9, 0.6, 0.8, 0.7])
    assert mistakes.rows == [
        Mistake(("c", "d"), "yes", "no", 0.8),
        Mistake(("e",), "yes", "no", 0.7),
        Mistake(("b",), "no", "yes", 0.6),
    ]
    assert (mistakes.measure, mistakes.wrong, mistakes.total) == ("confidence", 3, 4)
    assert [row.value for row in ClassificationScoring().mistakes(rows, ["yes"] * 4, None).rows] == [None, None]


def test_numbers_stand_by_their_difference():
    rows = [TextRow("a", "1"), TextRow("b", "2.5")]
    mistakes = RegressionScoring().mistakes(rows, [1.25, 1.0], None)
    assert mistakes.rows == [Mistake(("b",), "2.5", "1", 1.5), Mistake(("a",), "1", "1.25", 0.25)]
    assert mistakes.wrong is None


def test_cosines_stand_by_the_distance_of_their_ranks():
    rows = [TextRow("a", "0.1", "b"), TextRow("c", "0.5", "d"), TextRow("e", "0.9", "f"), TextRow("g", "1", "h")]
    mistakes = EmbeddingScoring().mistakes(rows, [0.7, 0.2, 0.3, 0.9], None)
    assert [(row.texts, row.value) for row in mistakes.rows] == [
        (("a", "b"), 0.5),
        (("c", "d"), 0.25),
        (("e", "f"), 0.25),
        (("g", "h"), 0.0),
    ]


def test_sentences_stand_by_their_wrong_tags():
    rows = [Sentence(("a", "b"), ("O", "O")), Sentence(("c",), ("O",)), Sentence(("d", "e"), ("B-x", "I-x"))]
    mistakes = TaggedScoring().mistakes(rows, [["O", "B-x"], ["O"], ["O", "O"]], None)
    assert [(row.words, row.value) for row in mistakes.rows] == [
        ((("d", "B-x", "O"), ("e", "I-x", "O")), 2.0),
        ((("a", "O", "O"), ("b", "O", "B-x")), 1.0),
    ]
    assert (mistakes.wrong, mistakes.total) == (2, 3)


def test_answers_stand_by_their_f1_and_long_contexts_are_cut_around_the_right_one():
    context = "x " * 900 + "the big ship"
    rows = [
        Question("1", "what ?", context, (("big ship", 1804), ("big ship", 1804), ("ship", 1808))),
        Question("2", "who ?", "nobody knows", ()),
        Question("3", "where ?", "at sea", (("at sea", 0),)),
    ]
    mistakes = QuestionScoring().mistakes(rows, ["ship", "nobody", "at sea."], None)
    assert (mistakes.wrong, mistakes.total) == (1, 3), "one of the right answers is enough, and marks do not count"
    assert mistakes.rows == [Mistake(("who ?", "nobody knows"), "", "nobody", 0.0)]
    (wrong,) = QuestionScoring().mistakes(rows[:1], ["the big boat"], None).rows
    assert wrong.truth == "big ship / ship"
    assert wrong.value == pytest.approx(0.5)
    assert wrong.texts[1].endswith("the big ship")
    assert wrong.texts[1].startswith("… ")
    assert len(wrong.texts[1]) == 602


def test_there_are_never_more_than_can_be_read():
    rows = [TextRow("a" * 5000, "no")] * 300
    mistakes = ClassificationScoring().mistakes(rows, ["yes"] * 300, [0.5] * 300)
    assert (len(mistakes.rows), mistakes.wrong) == (MOST_ROWS, 300)
    assert mistakes.rows[0].texts == ("a" * 600 + " …",)
    assert mistakes.as_dict()["rows"][0]["truth"] == "no"


def test_texts_are_cut_around_what_matters():
    text = "".join(str(number % 10) for number in range(1000))
    assert cut(text, 500) == f"… {text[200:800]} …"
    assert cut(text, 990) == f"… {text[400:]}"
    assert cut("short", 3) == "short"
    words = [(str(number), "O", "B" if number == 150 else "O") for number in range(200)]
    assert cut_words(words) == tuple(words[120:180])
    assert cut_words(words[:50]) == tuple(words[:50])
