import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import entropy

from keras_bert.core.losses import divergence


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_divergence_is_t_squared_kl_of_the_teacher_from_the_student(temperature):
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(2, 4, 3)).astype("float32") * 3
    expected = entropy(
        np.exp(log_softmax(teacher / temperature, axis=1)), np.exp(log_softmax(student / temperature, axis=1)), axis=1
    )
    np.testing.assert_allclose(divergence(student, teacher, temperature), temperature**2 * expected, rtol=1e-4)


def test_the_same_logits_have_no_divergence_and_huge_ones_no_nan():
    logits = np.array([[1e4, -1e4], [3.0, 3.0]], "float32")
    np.testing.assert_allclose(divergence(logits, logits, 2.0), 0.0, atol=1e-6)
    assert np.isfinite(divergence(logits[:, ::-1], logits, 2.0)).all()
