"""Class weights and selection: what is taken, and what is refused."""

from typing import Any

import pytest

from components.dsl.canonical import canonical
from components.dsl.errors import InputError
from components.training.tuning import ClassWeights, find_class_weights, make_objective
from keras_bert.objectives.base import tasks as objectives
from keras_bert.options.selection import Selection

COUNTS = {"train": {"B-x": 1, "O": 5}, "validation": {"I-x": 9}, "test": {"B-x": 7}}
FEATURES = {"task": "token_classification", "labels": COUNTS}
LABELS = ["B-x", "I-x", "O"]


def test_balanced_weights_follow_the_counts_of_training_alone() -> None:
    assert find_class_weights(FEATURES, LABELS, "balanced") == (6 / 2, 1.0, 6 / 10)


def test_a_table_names_some_labels_and_the_others_weigh_one() -> None:
    assert find_class_weights(FEATURES, LABELS, {"O": 0.25}) == (1.0, 1.0, 0.25)
    assert find_class_weights(FEATURES, LABELS, "none") is None


@pytest.mark.parametrize(
    ("labels", "wanted", "message"),
    [
        (LABELS, {"B-y": 1.0}, "class_weights has 'B-y', which is no label; did you mean 'B-x'?"),
        (LABELS, {"O": -1.0}, "class_weights.O must be positive and finite, got -1.0"),
        (LABELS, {"O": float("nan")}, "class_weights.O must be positive and finite, got nan"),
        ([], "balanced", "class_weights must be 'none' for token_classification, which has no labels, got 'balanced'"),
    ],
)
def test_weights_that_cannot_be(labels: list[str], wanted: ClassWeights, message: str) -> None:
    with pytest.raises(InputError) as error:
        find_class_weights(FEATURES, labels, wanted)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("task", "labels", "kind"),
    [
        ("classification", LABELS, objectives.ClassificationObjective),
        ("token_classification", LABELS, objectives.TokenClassificationObjective),
        ("regression", [], objectives.RegressionObjective),
        ("question_answering", [], objectives.QuestionAnsweringObjective),
    ],
)
def test_every_task_has_its_objective(task: str, labels: list[str], kind: type) -> None:
    assert type(make_objective({**FEATURES, "task": task}, labels, "none")) is kind


def test_class_weights_reach_the_objective() -> None:
    found: Any = make_objective(FEATURES, LABELS, {"O": 2.0})
    assert found.class_weights == (1.0, 1.0, 2.0)


def test_equal_weights_have_one_key() -> None:
    assert canonical({"b": 1.0, "a": 2.0}) == canonical({"a": 2.0, "b": 1.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keep": "first"}, r"Selection.keep must be one of \('best', 'last'\), got 'first'"),
        ({"validations": 0}, "Selection.validations must be at least 1, got 0"),
        ({"patience": 0}, "Selection.patience must be at least 1, got 0"),
        ({"patience": 1, "keep": "last"}, "Selection.patience must be left out where keep is 'last', got 1"),
    ],
)
def test_a_selection_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Selection(**arguments)
