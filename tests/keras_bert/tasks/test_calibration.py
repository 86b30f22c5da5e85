"""What a folder says of its files' probabilities."""

import json

import pytest

from keras_bert.tasks.calibration import Calibration, calibration_of, read_calibration
from tests.keras_bert.export.word_tasks import make_task


def read(folder, content):
    (folder / "metrics.json").write_text(json.dumps(content))
    return read_calibration(folder / "metrics.json")


def test_what_is_saved_can_be_read(tmp_path):
    task = make_task("classification")
    task.calibration = Calibration(1.5, 0.0)
    task.save_settings(tmp_path)
    assert calibration_of(json.loads((tmp_path / "task.json").read_text())["calibration"], tmp_path) == task.calibration
    for calibration in (Calibration(0.0), Calibration(1.0, -0.5), Calibration(float("nan"))):
        task.calibration = calibration
        with pytest.raises(ValueError, match="calibration must hold a positive temperature"):
            task.save_settings(tmp_path)


def test_temperature_and_threshold_are_read_and_damaged_files_refused(tmp_path):
    calibration = read(tmp_path, {"calibration": {"temperature": 1.5, "threshold": 0.75, "min_precision": 0.9}})
    assert calibration == Calibration(1.5, 0.75)
    assert [calibration.is_sure(probability) for probability in (0.74, 0.75, 1.0)] == [False, True, True]
    for text in ("{", "[" * 100_000):
        (tmp_path / "metrics.json").write_text(text)
        with pytest.raises(ValueError, match=r"metrics\.json must hold JSON"):
            read_calibration(tmp_path / "metrics.json")


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"calibration": None},
        {"calibration": {"temperature": None}},
        {"calibration": {"temperature": None, "min_precision": 0.9, "threshold": None}},
    ],
)
def test_what_says_nothing_leaves_all_as_it_is(tmp_path, content):
    assert read(tmp_path, content) == Calibration(1.0, None)
    assert Calibration().is_sure(0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": "hot"},
        {"temperature": -1.0},
        {"temperature": 0},
        {"temperature": True},
        {"temperature": float("inf")},
        {"temperature": float("nan")},
        {"temperature": 1.0, "threshold": "x"},
        [1.5],
        "hot",
        1.5,
        [],
        "",
    ],
)
def test_other_values_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=r"metrics\.json: calibration must hold a positive temperature and "):
        read(tmp_path, {"calibration": wrong})


def test_refuses_temperatures_that_make_logits_infinite(tmp_path):
    with pytest.raises(ValueError, match=r"metrics\.json: calibration\.temperature must be at least 1e-30, got "):
        read(tmp_path, {"calibration": {"temperature": 1e-320}})
