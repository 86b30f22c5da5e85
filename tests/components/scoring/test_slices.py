"""Scores of parts of the test rows, and models that are refused because of them."""

import random

import pytest

from components.artifacts.evaluation import MeasuredModel, SeedScores, SliceScore
from components.dsl.errors import InputError
from components.scoring.blessing import Thresholds, decide
from components.scoring.classification import ClassificationScoring
from components.scoring.multi_label import LabelSetAnswer, LabelSetScoring
from components.scoring.regression import RegressionScoring
from components.scoring.slices import (
    check_column_values,
    describe_slice,
    judge_slices,
    score_slices,
    slice_texts,
    worst_slices,
)
from components.scoring.token_classification import TaggedScoring
from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence

LABELS = ["no", "yes"]


class Words:
    """A tokenizer of words, of which `?` is unknown."""

    unknown_id = 1

    def tokenize(self, texts):
        self._rows = [[1 if word == "?" else 5 for word in text.split()] for text in texts]
        return self

    def to_list(self):
        return self._rows


def score(kind, value, high, rows=40):
    return SliceScore(kind, value, rows, 0.7, 0.6, high)


def test_rows_are_sliced_by_their_tokens():
    texts = ["a " * count for count in (1, 8, 9, 16, 17, 512, 513)]
    values = slice_texts(Words(), texts, None)
    assert values["length"] == ["1-8", "1-8", "9-16", "9-16", "17-32", "257-512", "513-"]
    assert set(values["unknown"]) == {"0 %"}
    texts = [" ".join(["?"] * unknown + ["a"] * (100 - unknown)) for unknown in (0, 1, 5, 6, 20, 21, 100)]
    shares = slice_texts(Words(), texts, None)["unknown"]
    assert shares == ["0 %", "0-5 %", "0-5 %", "5-20 %", "5-20 %", "20-100 %", "20-100 %"]
    # The tokens of both texts of a pair count.
    pair = slice_texts(Words(), ["a " * 8, ""], ["?", ""])
    assert pair == {"length": ["9-16", "1-8"], "unknown": ["5-20 %", "0 %"]}


def test_a_planted_weakness_comes_first():
    chance = random.Random(0)
    rows = [TextRow(str(number), chance.choice(LABELS)) for number in range(400)]
    sources = [chance.choice(["web", "news", "mail"]) for _ in rows]
    # Half of the answers to texts of the web are wrong, and one in ten of the others.
    wrong = [chance.random() < (0.5 if source == "web" else 0.1) for source in sources]
    answers = [LABELS[row.label == "no"] if flips else row.label for row, flips in zip(rows, wrong, strict=True)]
    scores = score_slices(ClassificationScoring(), rows, answers, LABELS, "accuracy", {"source": sources})
    assert scores[0].value == "web"
    assert scores[0].high < scores[1].low
    for one in scores:
        places = [place for place, source in enumerate(sources) if source == one.value]
        assert one.rows == len(places)
        assert one.score == pytest.approx(sum(not wrong[place] for place in places) / len(places))
        assert one.low < one.score < one.high


@pytest.mark.parametrize("metric", LabelSetScoring().metrics(LABELS))
def test_right_answers_to_rows_without_labels_are_no_weakness(metric):
    rows = [LabelSetRow(str(number), ("yes",) if number < 12 else ()) for number in range(24)]
    answers = [LabelSetAnswer(frozenset(row.labels), {"yes": float(bool(row.labels))}) for row in rows]
    sources = ["web"] * 12 + ["news"] * 12
    scores = score_slices(LabelSetScoring(), rows, answers, LABELS, metric, {"source": sources})
    assert [one.score for one in scores] == [1.0] * len(scores)
    # Metrics of single rows count a row without labels that gets none as right; others say nothing about such rows.
    is_defined = metric in ("sample_f1", "subset_accuracy")
    assert {one.value for one in scores} == ({"web", "news"} if is_defined else {"web"})


def test_right_answers_to_sentences_without_entities_are_no_weakness():
    rows = [Sentence(("Ann",), ("B-per",))] * 12 + [Sentence(("ran",), ("O",))] * 12
    values = {"source": ["web"] * 12 + ["news"] * 12}
    scores = score_slices(TaggedScoring(), rows, [row.tags for row in rows], ["B-per", "I-per", "O"], "f1", values)
    assert [(one.value, one.score) for one in scores] == [("web", 1.0)]
    # With tags that are not entities, each word is right or wrong.
    rows = [Sentence(("ran",), ("O",))] * 12
    scores = score_slices(TaggedScoring(), rows, [("O",)] * 12, ["O", "verb"], "accuracy", {"source": ["news"] * 12})
    assert [(one.value, one.score) for one in scores] == [("news", 1.0)]


def test_few_rows_and_undefined_scores_are_left_out():
    rows = [TextRow(str(number), str(number // 12)) for number in range(24)]
    values = {"half": ["one"] * 12 + ["two"] * 12, "few": ["many"] * 15 + ["nine"] * 9}
    scores = score_slices(RegressionScoring(), rows, [float(number) for number in range(24)], [], "pearson", values)
    # All labels of each half are one number.
    assert [one.name for one in scores] == ["few=many"]


def test_only_parts_of_the_rows_are_shown():
    scores = [score("a", str(number), 0.8) for number in range(12)]
    assert worst_slices([score("length", "1-8", 0.8, rows=100), *scores], 100) == scores[:10]
    assert describe_slice(scores[3]) == "a=3 of 40 rows: 70.00 (60.00 to 80.00)"


@pytest.mark.parametrize(
    ("name", "minimum", "verdicts"),
    [
        ("source", 80.0, [True, False]),
        ("source=mail", 80.0, [False]),
        ("source=mail", 79.0, [True]),
        ("source=web", 80.0, [True]),
        ("length", 0.0, [True]),  # no slice with enough rows
    ],
)
def test_a_slice_is_refused_if_its_whole_interval_is_below(name, minimum, verdicts):
    scores = [score("source", "web", 0.8), score("source", "mail", 0.79)]
    assert [holds for holds, _ in judge_slices(scores, {name: minimum})] == verdicts


def test_a_bad_slice_is_a_reason_against_the_file():
    thresholds = Thresholds(slice_columns=("source",), min_slice_scores={"source=mail": 85})
    models = {"teacher": MeasuredModel({"accuracy": SeedScores.of([0.9])})}
    slices = [score("source", "mail", 0.79)]
    decision = decide(models, "accuracy", "teacher", thresholds, slices=slices)
    assert not decision.blessed
    rule = "must not be significantly below evaluation.min_slice_scores 85 of 'source=mail'"
    assert f"NO: slice source=mail of 40 rows: 70.00 (60.00 to 79.00) {rule}" in decision.reasons


def test_a_column_has_few_values():
    check_column_values("source", map(str, range(50)), ["source=3", "source", "length=1-8"])
    with pytest.raises(
        InputError, match=r"^slice_columns must name columns of at most 50 values, got 'id' with 1,200;"
    ):
        check_column_values("id", map(str, range(1200)), [])
    with pytest.raises(InputError, match=r"of values that rows have, got 'source=wbe'; did you mean 'web'\?"):
        check_column_values("source", ["web", "mail"], ["source=wbe"])
