"""Every task has a scoring, whose first metric is the main one."""

import pytest

from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.scoring.base import choose_metric
from components.scoring.registry import TASK_SCORING


def test_every_task_with_rows_has_scoring() -> None:
    assert set(TASK_SCORING) == set(TASK_ROWS)


@pytest.mark.parametrize(
    ("task", "labels", "names"),
    [
        ("classification", ["a", "b"], ("accuracy", "macro_f1", "mcc")),
        ("classification", ["a", "b", "c"], ("accuracy", "macro_f1")),
        (
            *("multi_label", ["a", "b"]),
            ("micro_f1", "macro_f1", "sample_f1", "subset_accuracy", "average_precision"),
        ),
        ("regression", [], ("spearman", "pearson", "r2")),
        ("embedding", [], ("spearman", "pearson")),
        ("token_classification", ["B-org", "B-per", "I-org", "I-per", "O"], ("f1", "precision", "recall")),
        ("token_classification", ["NOUN", "VERB"], ("accuracy", "macro_f1")),
        ("question_answering", [], ("f1", "exact")),
        ("retrieval", [], ("ndcg_at_10", "mrr_at_10", "recall_at_1", "recall_at_10", "map")),
    ],
)
def test_the_first_metric_is_the_main_one(task: str, labels: list[str], names: tuple[str, ...]) -> None:
    scoring = TASK_SCORING[task]
    assert scoring.metrics(labels) == names
    assert choose_metric("", scoring, labels) == names[0]
    assert choose_metric(names[-1], scoring, labels) == names[-1]


@pytest.mark.parametrize(
    ("task", "labels", "message"),
    [
        (
            *("classification", ["a", "b", "c"]),
            "metric must be one of ['accuracy', 'macro_f1'] for classification with 3 labels, got 'mcc'",
        ),
        ("regression", [], "metric must be one of ['spearman', 'pearson', 'r2'] for regression, got 'mcc'"),
    ],
)
def test_a_metric_that_the_task_has_not(task: str, labels: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        choose_metric("mcc", TASK_SCORING[task], labels)
    assert str(error.value) == message
