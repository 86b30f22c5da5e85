import keras
import numpy as np
import pytest

from keras_bert.tasks.regression import Regression, build_regressor
from tests.keras_bert.models.test_encoder import dense, weights_of
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_numbers_against_numpy(pooling):
    encoder = make_encoder()
    task = Regression(build_regressor(encoder, pooling=pooling), make_tokenizer(), max_length=30)
    inputs = task.encode(["a good film", "bad"], ["film", "a very good film"])
    states, mask = np.asarray(encoder(inputs)["sequence_output"]), inputs["padding_mask"][:, :, None]
    means = (states * mask).sum(1) / mask.sum(1)
    pooled = np.asarray(encoder(inputs)["pooled_output"]) if pooling == "cls" else means
    expected = dense(pooled, weights_of(task.model), "regressor")
    predicted = task.predict(["a good film", "bad"], ["film", "a very good film"])
    np.testing.assert_allclose(predicted, expected[:, 0], atol=1e-5)
    assert all(type(value) is float for value in predicted)


def test_fit_learns_the_numbers():
    keras.utils.set_random_seed(0)
    task = Regression.build(make_encoder(num_layers=1), make_tokenizer(), pooling="mean", max_length=30, dropout=0.0)
    task.compile(keras.optimizers.Adam(5e-3))
    x, y = task.examples(["good", "bad", "very good", "very bad"] * 8, [1, -1, 2, -2] * 8)
    history = task.model.fit(x, y, batch_size=8, epochs=40, verbose=0).history
    assert history["absolute_error"][-1] < 0.3
    assert task.predict(["very good"])[0] > task.predict(["bad"])[0] + 1.5


def test_bad_values():
    task = Regression.build(make_encoder(), make_tokenizer(), max_length=30)
    with pytest.raises(ValueError, match=r"values must be as many as texts \(2\), got 1"):
        task.examples(["a", "film"], [1.0])
    with pytest.raises(ValueError, match=r"values\[1\] must be a finite number, got nan"):
        task.examples(["a", "film"], [1.0, float("nan")])
