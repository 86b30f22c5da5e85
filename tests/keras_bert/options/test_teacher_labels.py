import pytest

from keras_bert.options.teacher_labels import TeacherLabels
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"copies": -1}, "copies must be at least 0, got -1"),
        ({"replaced": 0.0}, "replaced must be positive, got 0.0"),
        ({"candidates": 0}, "candidates must be positive, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(TeacherLabels, settings, message)
