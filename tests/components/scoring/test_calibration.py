"""What validation rows find, and what it is worth."""

import numpy as np
import pytest

from components.scoring.base import LabelLogits
from components.scoring.calibration import (
    calibrate,
    confidences_of,
    measure,
    reliability_bins,
    row_confidences,
)

LABELS = ["no", "yes"]
# Three of four are right; the wrong one is among the least sure.


def make_logits(logits, truth):
    """The logits of texts, one for each row."""
    numbers = np.arange(len(truth))
    return LabelLogits(logits, truth, numbers, np.zeros_like(numbers))


VALIDATION = make_logits(
    np.array([[4.0, 0.0], [0.0, 4.0], [2.0, 0.0], [2.0, 0.0]] * 13), ["no", "yes", "no", "yes"] * 13
)
TEST = make_logits(np.array([[4.0, 0.0], [0.0, 3.0], [0.0, 4.0]]), ["no", "no", "no"])


def test_validation_rows_decide_and_test_rows_tell():
    calibration = calibrate(VALIDATION, LABELS, 0.95)
    assert calibration["temperature"] > 1, "4 is more than what is right 3 times of 4 deserves"
    assert calibration["threshold"] == pytest.approx(1 / (1 + np.exp(-4 / calibration["temperature"])))
    on_validation = calibration["validation"]
    assert on_validation["kept"] == {"share": 0.5, "precision": 1.0}
    assert on_validation["rows"] == 52
    assert on_validation["likelihood_loss"][1] < on_validation["likelihood_loss"][0]
    on_test = measure(calibration, TEST, LABELS)
    assert on_test["kept"] == {"share": pytest.approx(2 / 3), "precision": 0.5}
    before = np.abs(np.array([1, 0, 0]) - 1 / (1 + np.exp(-np.array([4.0, 3.0, 4.0]))))
    # 4 and 4 lie in one bin, 3 in the one before or the same: the mean of what is right less what is believed.
    assert on_test["calibration_error"][0] == pytest.approx(abs(before[1:].sum() - before[0]) / 3, rel=1e-9)


def test_without_a_precision_there_is_no_threshold():
    calibration = calibrate(VALIDATION, LABELS, None)
    assert calibration.keys() == {"temperature", "confidences", "validation"}
    assert "kept" not in calibration["validation"]


def test_a_precision_that_cannot_be_reached():
    wrong = VALIDATION._replace(truth=["yes", "no", "no", "no"] * 13)
    calibration = calibrate(wrong, LABELS, 0.9)
    assert (calibration["min_precision"], calibration["threshold"]) == (0.9, None)
    assert "kept" not in calibration["validation"]


def test_where_all_are_right_probabilities_stay_as_they_are():
    calibration = calibrate(VALIDATION._replace(truth=["no", "yes", "no", "no"] * 13), LABELS, 0.9)
    assert calibration["temperature"] is None
    assert calibration["no_temperature"] == "all validation answers are right, or no better than chance"
    before, after = calibration["validation"]["calibration_error"]
    assert before == after
    assert calibration["threshold"] == pytest.approx(1 / (1 + np.exp(-2)))


@pytest.mark.parametrize("rows", [49, 50])
def test_few_rows_fit_no_temperature(rows):
    validation = VALIDATION._replace(logits=VALIDATION.logits[:rows], truth=VALIDATION.truth[:rows])
    calibration = calibrate(validation._replace(rows=np.arange(rows), places=np.zeros(rows, int)), LABELS, None)
    assert (calibration["temperature"] is None) is (rows < 50)
    # Words of one sentence are one row.
    words = validation._replace(rows=np.arange(rows) // 2, places=np.arange(rows) % 2)
    calibration = calibrate(words, LABELS, 0.95)
    assert calibration["temperature"] is None
    assert calibration["no_temperature"] == "25 validation rows are fewer than the 50 that a temperature needs"
    before, after = calibration["validation"]["calibration_error"]
    assert before == after
    assert calibration["threshold"] is not None, "asked for, and of the probabilities as they are"


def test_a_diagram_has_the_bins_of_both_and_confidences_are_those_of_the_answers():
    calibration = {"temperature": 2.0}
    drawn = reliability_bins(calibration, TEST, LABELS)
    sure = [1 / (1 + np.exp(-logit / 2)) for logit in (4.0, 3.0, 4.0)]
    assert confidences_of(calibration, TEST, LABELS) == pytest.approx(sure)
    # 0.881 and 0.881 lie in (13/15, 14/15], 0.818 in the bin before.
    assert [bucket and bucket["rows"] for bucket in drawn["after"]] == [*[None] * 12, 1, 2, None]
    assert drawn["after"][13] == {"rows": 2, "confidence": pytest.approx(sure[0]), "accuracy": 0.5}
    assert drawn["after"][12]["accuracy"] == 0.0
    assert sum(bucket["rows"] for bucket in drawn["before"] if bucket) == 3
    assert reliability_bins({"temperature": None}, TEST, LABELS)["after"] == drawn["before"]


def test_the_confidence_of_a_row_is_the_mean_over_its_words():
    words = LabelLogits(np.array([[4.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), ["no"] * 3, np.array([0, 0, 2]), np.zeros(3))
    sure = [1 / (1 + np.exp(-logit / 2)) for logit in (4.0, 2.0)]
    assert row_confidences({"temperature": 2.0}, words) == pytest.approx([sum(sure) / 2, 0.5])
    assert calibrate(VALIDATION, LABELS, None)["confidences"]["counts"] == [26, 26]
