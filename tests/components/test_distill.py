"""Where a student starts from."""

import logging

import numpy as np
import pytest

from components.distill import take_over
from tests.keras_bert.compress import tiny


def test_a_student_that_fits_starts_from_the_teacher() -> None:
    teacher, student = tiny.build(num_layers=2), tiny.build(num_layers=1)
    copied = take_over(student, teacher)
    assert copied["block_0"] == "block_0"
    table, wanted = (model.get_layer("token_embedding").get_weights()[0] for model in (student, teacher))
    np.testing.assert_array_equal(table, wanted)


def test_one_that_does_not_fit_starts_from_chance_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    teacher, student = tiny.build(num_layers=3), tiny.build(num_layers=2)
    before = student.get_weights()
    with caplog.at_level(logging.WARNING):
        assert take_over(student, teacher) == {}
    assert "the student starts from chance: the teacher's 3 blocks must be a multiple" in caplog.text
    for old, new in zip(before, student.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
