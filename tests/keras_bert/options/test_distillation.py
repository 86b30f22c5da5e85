import pytest

from keras_bert.options.distillation import Distillation
from tests.keras_bert.options.refusals import check_refusal


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0}, "temperature must be positive, got 0"),
        ({"hard_weight": 2}, "hard_weight must be at most 1, got 2"),
        ({"hard_weight": -0.1}, "hard_weight must be at least 0, got -0.1"),
    ],
)
def test_out_of_range(settings, message):
    check_refusal(Distillation, settings, message)


def test_teacher_and_labels_may_each_have_all_the_say():
    assert [Distillation(hard_weight=share).hard_weight for share in (0, 1)] == [0, 1]
