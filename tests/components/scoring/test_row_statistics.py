"""Metrics of means over rows, beside the metrics of the tasks' scoring, on samples with repeated rows."""

import random

import numpy as np
import pytest

from components.scoring.bootstrap import Interval, make_measure, score_interval
from components.scoring.classification import ClassificationScoring
from components.scoring.multi_label import LabelSetAnswer, LabelSetScoring
from components.scoring.question_answering import QuestionScoring
from components.scoring.regression import EmbeddingScoring, RegressionScoring
from components.scoring.token_classification import TaggedScoring
from components.sources.label_sets import LabelSetRow
from components.sources.questions import Question
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence

CHANCE = random.Random(0)
ROWS = 60
TAGS = ["B-place", "I-place", "B-time", "I-time", "O"]
PARTS_OF_SPEECH = ["noun", "verb"]


def texts(labels):
    return [TextRow(str(number), CHANCE.choice(labels), "second") for number in range(ROWS)]


def sentences(tags):
    sizes = [CHANCE.randint(1, 9) for _ in range(ROWS)]
    return [Sentence(("word",) * size, tuple(CHANCE.choices(tags, k=size))) for size in sizes]


def disturb_tags(rows, tags):
    return [[CHANCE.choice(tags) if CHANCE.random() < 0.3 else tag for tag in row.tags] for row in rows]


def cases():
    made = []
    for labels, metrics in ((["a", "b"], ("accuracy", "macro_f1", "mcc")), (list("abcde"), ("accuracy", "macro_f1"))):
        rows = texts(labels)
        answers = [CHANCE.choice(labels) if CHANCE.random() < 0.3 else row.label for row in rows]
        made += [(ClassificationScoring(), rows, answers, labels, metric) for metric in metrics]
    numbers = texts([str(1000 + number / 7) for number in range(20)])
    estimates = [float(row.label) + CHANCE.gauss(0, 1) for row in numbers]
    made += [(RegressionScoring(), numbers, estimates, [], metric) for metric in ("spearman", "pearson", "r2")]
    made += [(EmbeddingScoring(), numbers, estimates, [], metric) for metric in ("spearman", "pearson")]
    # One answer is a tag that is not a label, as of a word without pieces.
    for tags, metrics in ((TAGS, ("f1", "precision", "recall")), (PARTS_OF_SPEECH, ("accuracy", "macro_f1"))):
        tagged = sentences(tags)
        guesses = disturb_tags(tagged, [*tags, "O"])
        made += [(TaggedScoring(), tagged, guesses, tags, metric) for metric in metrics]
    names = ["x", "y", "z"]
    several = [LabelSetRow(str(i), tuple(name for name in names if CHANCE.random() < 0.4)) for i in range(ROWS)]
    sets = [
        # Probabilities of one digit, so that many are equal.
        LabelSetAnswer(
            frozenset(name for name in names if CHANCE.random() < 0.4),
            {name: round(CHANCE.random(), 1) for name in names},
        )
        for _ in several
    ]
    metrics = ("micro_f1", "macro_f1", "sample_f1", "subset_accuracy", "average_precision")
    made += [(LabelSetScoring(), several, sets, names, metric) for metric in metrics]
    questions = [Question(str(number), "who?", "a b c", (("a b", 0),)) for number in range(ROWS)]
    given = [CHANCE.choice(["a b", "b", "c"]) for _ in questions]
    made += [(QuestionScoring(), questions, given, [], metric) for metric in ("f1", "exact")]
    return made


@pytest.mark.parametrize(("scoring", "rows", "answers", "labels", "metric"), cases())
def test_samples_score_as_their_rows_do(scoring, rows, answers, labels, metric):
    measure, _ = make_measure(scoring, rows, answers, labels, metric)
    places = np.random.default_rng(0).integers(0, ROWS, (5, ROWS))
    # SQuAD's scores are by the id of a question.
    numbered = isinstance(rows[0], Question)
    expected = []
    for draw in places:
        drawn = [rows[place]._replace(id=str(i)) if numbered else rows[place] for i, place in enumerate(draw)]
        expected.append(scoring.score(drawn, [answers[place] for place in draw], labels).metrics[metric])
    counts = np.stack([np.bincount(draw, minlength=ROWS) for draw in places])
    assert measure(counts) == pytest.approx(np.array(expected), abs=1e-9)


def test_only_ranks_need_single_rows():
    slow = {metric for scoring, *rest, metric in cases() if not make_measure(scoring, *rest, metric)[1]}
    assert slow == {"spearman"}


def test_samples_without_true_labels_are_left_out():
    rows = [Sentence(("a",), ("B-place",)), *(Sentence(("b",), ("O",)) for _ in range(3))]
    for metric in ("f1", "precision", "recall"):
        assert score_interval(TaggedScoring(), rows, [row.tags for row in rows], TAGS, metric) == (1.0, 1.0)
    texts = [LabelSetRow("a", ("x",)), *(LabelSetRow("b", ()) for _ in range(3))]
    sets = [LabelSetAnswer(frozenset(row.labels), {"x": float(bool(row.labels))}) for row in texts]
    for metric in ("micro_f1", "macro_f1", "average_precision"):
        assert score_interval(LabelSetScoring(), texts, sets, ["x", "y"], metric) == (1.0, 1.0)
    pairs = [TextRow("a", "yes"), TextRow("b", "no"), TextRow("c", "no")]
    labels = [row.label for row in pairs]
    assert score_interval(ClassificationScoring(), pairs, labels, ["no", "yes"], "mcc") == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize("metric", ["pearson", "r2"])
def test_samples_of_equal_numbers_are_left_out_whatever_rounding_leaves(metric):
    # Of samples whose labels are all 1.1 the mean square is not exactly the square of the mean.
    rows = [TextRow(str(number), label) for number, label in enumerate(["1.1", "1.1", "3.3"])]
    low, high = score_interval(RegressionScoring(), rows, [0.0, 0.1, 0.2], [], metric)
    assert -1000 < low < high < 1 + 1e-9
    measure, _ = make_measure(RegressionScoring(), rows, [0.3, 0.3, 0.8], [], "pearson")
    # Answers that are all alike order nothing; labels that are all alike cannot be ordered.
    assert measure(np.array([[1, 1, 1], [2, 1, 0], [0, 3, 0]])) == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)


def test_counts_of_many_labels_are_sparse():
    names = [str(number) for number in range(1000)]
    rows = [TextRow("", name) for name in names]
    statistics = ClassificationScoring().sample_measure("macro_f1", rows, names, names)
    sets = LabelSetScoring().sample_measure(
        "macro_f1", [LabelSetRow("", (name,)) for name in names], [LabelSetAnswer(frozenset(), {})] * 1000, names
    )
    assert statistics is not None
    assert sets is not None
    # Right, predicted and true, each once a row; nothing is predicted of the sets.
    assert (statistics.values.nnz, sets.values.nnz) == (3000, 1000)


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_samples_of_one_number_are_left_out(metric):
    rows, answers = [TextRow("a", "0"), TextRow("b", "1")], [0.0, 1.0]
    low, high = score_interval(RegressionScoring(), rows, answers, [], metric)
    assert (low, high) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(("answer", "expected"), [("a", (0.6915, 1.0)), ("b", (0.0, 0.3085))])
def test_the_interval_of_rows_that_are_all_alike_is_exact(answer, expected):
    rows = [TextRow(str(number), "a") for number in range(10)]
    interval = score_interval(ClassificationScoring(), rows, [answer] * 10, ["a", "b"], "accuracy")
    # 0.025 ** (1 / 10), as all ten are right with this probability.
    assert interval == pytest.approx(expected, abs=1e-4)


def test_the_interval_of_a_share_is_that_of_a_binomial():
    rows = [TextRow(str(number), "a") for number in range(400)]
    answers = ["a"] * 300 + ["b"] * 100
    interval = score_interval(ClassificationScoring(), rows, answers, ["a", "b"], "accuracy")
    # 0.75 ± 1.96 sqrt(0.75 * 0.25 / 400)
    assert interval == pytest.approx(Interval(0.7076, 0.7924), abs=4e-3)
    assert interval == score_interval(ClassificationScoring(), rows, answers, ["a", "b"], "accuracy"), "seeded"
