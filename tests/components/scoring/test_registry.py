"""Every task has a scoring, whose first metric is the main one."""

import pytest

from components.examples.registry import TASK_ROWS
from components.scoring.base import choose_metric
from components.scoring.registry import TASK_SCORING


def test_every_task_with_rows_has_scoring():
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
        ("reranking", [], ("ndcg_at_10", "mrr_at_10")),
        ("retrieval", [], ("ndcg_at_10", "mrr_at_10", "recall_at_1", "recall_at_10", "map")),
    ],
)
def test_the_first_metric_is_the_main_one(task, labels, names):
    scoring = TASK_SCORING[task]
    assert scoring.metrics(labels) == names
    assert choose_metric("", scoring, labels) == names[0]
    assert choose_metric(names[-1], scoring, labels) == names[-1]
