"""What is asked of the scoring of every task alike: metrics, samples of rows, trivial answers and mistakes."""

import json
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from components.examples.registry import TASK_ROWS
from components.scoring.base import choose_metric
from components.scoring.bootstrap import make_measure
from components.scoring.multi_label import LabelSetAnswer
from components.scoring.registry import TASK_SCORING
from components.scoring.retrieval import Ranking
from components.sources.label_sets import LabelSetRow
from components.sources.questions import Question
from components.sources.retrieval import QueryRow
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence
from keras_bert.core.plugins import find_plugins

CHANCE = random.Random(0)
ROWS = range(60)
BIO, PARTS_OF_SPEECH = ["B-place", "B-time", "I-place", "I-time", "O"], ["noun", "verb"]


class Sample(NamedTuple):
    """Drawn rows of a task, answers that are partly wrong, and right ones."""

    task: str
    labels: list[str]
    metrics: tuple[str, ...]
    rows: list[Any]
    answers: list[Any]
    right: list[Any]


def disturb(values, choices):
    return [CHANCE.choice(choices) if CHANCE.random() < 0.3 else value for value in values]


def sample_texts(task, labels, *metrics):
    rows = [TextRow(str(row), CHANCE.choice(labels), "second") for row in ROWS]
    right = [row.label for row in rows]
    return Sample(task, labels, metrics, rows, disturb(right, labels), right)


def sample_numbers(task, *metrics):
    rows = [TextRow(str(row), str(CHANCE.choice(ROWS) / 7), "second") for row in ROWS]
    right = [float(row.label) for row in rows]
    return Sample(task, [], metrics, rows, [number + CHANCE.gauss(0, 1) for number in right], right)


def sample_tags(labels, *metrics):
    sizes = [CHANCE.randint(1, 9) for _ in ROWS]
    rows = [Sentence(("word",) * size, tuple(CHANCE.choices(labels, k=size))) for size in sizes]
    right = [list(row.tags) for row in rows]
    # One answer is a tag that is not a label, as of a word without pieces.
    return Sample(
        "token_classification", labels, metrics, rows, [disturb(tags, [*labels, "O"]) for tags in right], right
    )


def sample_sets(labels, *metrics):
    def draw():
        return [label for label in labels if CHANCE.random() < 0.4]

    rows = [LabelSetRow(str(row), tuple(draw())) for row in ROWS]
    # Probabilities of one digit, so that many are equal.
    answers = [LabelSetAnswer(frozenset(draw()), {name: round(CHANCE.random(), 1) for name in labels}) for _ in ROWS]
    right = [
        LabelSetAnswer(frozenset(row.labels), {name: float(name in row.labels) for name in labels}) for row in rows
    ]
    return Sample("multi_label", labels, metrics, rows, answers, right)


def sample_questions(*metrics):
    rows = [Question(str(row), "who?", "a b c", (("a b", 0),)) for row in ROWS]
    return Sample(
        "question_answering", [], metrics, rows, [CHANCE.choice(["a b", "b", "c"]) for _ in ROWS], ["a b"] * 60
    )


def sample_queries(*metrics):
    rows = [QueryRow(f"query {row}", (f"passage {row}",)) for row in ROWS]
    answers = [Ranking(((rank, rank),), "passage") for rank in (CHANCE.randint(1, 20) for _ in ROWS)]
    return Sample("retrieval", [], metrics, rows, answers, [Ranking(((1, 1),), row.passages[0]) for row in rows])


def sample_lists(*metrics):
    rows = [TextRow(f"query {row // 4}", str(row % 4), f"passage {row}") for row in ROWS]
    right = [float(row.label) for row in rows]
    return Sample("reranking", [], metrics, rows, [number + CHANCE.gauss(0, 2) for number in right], right)


SAMPLES = [
    sample_texts("classification", ["a", "b"], "accuracy", "macro_f1", "mcc"),
    sample_texts("classification", list("abcde"), "accuracy", "macro_f1"),
    sample_sets(["x", "y", "z"], "micro_f1", "macro_f1", "sample_f1", "subset_accuracy", "average_precision"),
    sample_numbers("regression", "spearman", "pearson", "r2"),
    sample_numbers("embedding", "spearman", "pearson"),
    sample_tags(BIO, "f1", "precision", "recall"),
    sample_tags(PARTS_OF_SPEECH, "accuracy", "macro_f1"),
    sample_questions("f1", "exact"),
    sample_lists("ndcg_at_10", "mrr_at_10"),
    sample_queries("ndcg_at_10", "mrr_at_10", "recall_at_1", "recall_at_10", "map"),
]
every_scoring = pytest.mark.parametrize(
    "sample", SAMPLES, ids=[f"{sample.task}-{len(sample.labels)}" for sample in SAMPLES]
)


def test_every_task_with_rows_has_scoring():
    assert set(TASK_SCORING) == set(TASK_ROWS)
    assert set(TASK_ROWS) - set(find_plugins("task_rows")) == {sample.task for sample in SAMPLES}


@every_scoring
def test_the_first_metric_is_the_main_one_and_right_answers_have_all_of_each(sample):
    scoring = TASK_SCORING[sample.task]
    assert scoring.metrics(sample.labels) == sample.metrics
    assert choose_metric("", scoring, sample.labels) == sample.metrics[0]
    assert choose_metric(sample.metrics[-1], scoring, sample.labels) == sample.metrics[-1]
    right, disturbed = (
        scoring.score(sample.rows, answers, sample.labels).metrics for answers in (sample.right, sample.answers)
    )
    for name in sample.metrics:
        assert right[name] == pytest.approx(1.0)
    assert disturbed[sample.metrics[0]] < 0.99


@every_scoring
def test_samples_score_as_their_rows_do(sample):
    scoring = TASK_SCORING[sample.task]
    if sample.task == "reranking":
        assert scoring.count_units(sample.rows) == 15, "lists are drawn as a whole, see test_reranking.py"
        return
    draws = np.random.default_rng(0).integers(0, len(ROWS), (5, len(ROWS)))
    counts = np.stack([np.bincount(draw, minlength=len(ROWS)) for draw in draws])
    for metric in sample.metrics:
        measure, is_fast = make_measure(scoring, sample.rows, sample.answers, sample.labels, metric)
        assert is_fast == (metric != "spearman"), "only ranks need single rows"
        expected = []
        for draw in draws:
            rows, answers = ([values[place] for place in draw] for values in (sample.rows, sample.answers))
            if sample.task == "question_answering":  # whose scores are by the id of a question
                rows = [row._replace(id=str(number)) for number, row in enumerate(rows)]
            expected.append(scoring.score(rows, answers, sample.labels).metrics[metric])
        assert measure(counts) == pytest.approx(np.array(expected), abs=1e-9), metric


@every_scoring
def test_trivial_answers_and_mistakes(sample):
    scoring = TASK_SCORING[sample.task]
    name, answers = scoring.trivial(sample.rows, sample.rows[:20])
    assert name
    assert len(answers) == 20
    assert scoring.score(sample.rows[:20], answers, sample.labels).metrics[sample.metrics[0]] < 1.0
    wrong, none = (scoring.mistakes(sample.rows, given, None) for given in (sample.answers, sample.right))
    assert (none.wrong or 0, none.total) == (0, wrong.total)
    assert wrong.wrong is None or 0 < wrong.wrong <= wrong.total == scoring.count_units(sample.rows)
    assert json.loads(json.dumps(wrong.as_dict()))["measure"] == wrong.measure
