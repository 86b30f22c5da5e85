"""What is said of several seeds: exact figures, and that nothing is chosen by test rows."""

from pathlib import Path

import numpy as np
import pytest

from components.fine_tune_seeds import Trial, choose, spread, summarize
from components.scoring.classes.classes.classes.tasks import TaskScores

VALIDATION = (0.5, 0.75, 0.75)
TEST = (0.9, 0.1, 0.8)


def trials() -> list[Trial]:
    return [Trial(7 + number, Path(), {}, [], {"accuracy": value}) for number, value in enumerate(VALIDATION)]


def on_test_rows() -> list[TaskScores]:
    return [TaskScores({"accuracy": value}, {"yes": {"f1": value}}) for value in TEST]


def test_mean_and_sample_standard_deviation_are_exact() -> None:
    # Deviations -3, -1, 1, 3 from 4: the sum of their squares, 20, over one less than there are.
    assert spread([1.0, 3.0, 5.0, 7.0]) == {"mean": 4.0, "sd": (20 / 3) ** 0.5}
    values = [0.8123, 0.7991, 0.8245]
    assert spread(values) == pytest.approx({"mean": np.mean(values), "sd": np.std(values, ddof=1)}, rel=1e-15)
    assert spread([0.3, 0.3, 0.3]) == {"mean": 0.3, "sd": 0.0}


def test_one_seed_has_no_deviation() -> None:
    assert spread([0.25]) == {"mean": 0.25, "sd": None}


def test_the_best_on_validation_rows_is_kept_the_first_of_equals() -> None:
    assert choose(trials(), "accuracy").seed == 8


def test_the_report_is_that_of_the_kept_model_and_the_means_are_of_all() -> None:
    found = trials()
    content = summarize("classification", "accuracy", {"test": 4}, found, choose(found, "accuracy"), on_test_rows())
    assert content["kept"] == 8
    # The worst on test rows: chosen by test rows it would be another, and the report's figure with it.
    assert content["report"] == {"yes": {"f1": 0.1}}
    assert content["test"]["accuracy"] == spread(TEST)
    assert content["validation"]["accuracy"] == spread(VALIDATION)
    assert content["seeds"][2] == {"seed": 9, "validation": {"accuracy": 0.75}, "test": {"accuracy": 0.8}}
    assert (content["task"], content["metric"], content["rows"]) == ("classification", "accuracy", {"test": 4})
