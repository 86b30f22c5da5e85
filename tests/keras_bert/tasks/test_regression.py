import math

import keras
import numpy as np
import pytest

from keras_bert.models.saving import CUSTOM_OBJECTS, load_model, save_model
from keras_bert.options.adaptation import Lora
from keras_bert.tasks.registry import load_adapter
from keras_bert.tasks.regression import Regression, build_regressor
from keras_bert.training.precision import computing_in
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


@pytest.mark.long
def test_numbers_far_from_0_are_learnt():
    keras.utils.set_random_seed(0)
    task = Regression.build(make_encoder(num_layers=1), make_tokenizer(), pooling="mean", max_length=30, dropout=0.0)
    numbers = [4000.0, 3400.0, 7000.0, 5000.0]
    x, y = task.examples(["good", "bad", "very good", "very bad"] * 8, numbers * 8)
    assert y[:4, 0].tolist() == numbers
    task.compile(keras.optimizers.Adam(5e-3))
    history = task.model.fit(x, y, batch_size=8, epochs=40, verbose=0).history
    assert history["absolute_error"][-1] < 300
    np.testing.assert_allclose(task.predict(["very good", "bad"]), [7000, 3400], atol=500)


def test_the_first_numbers_set_the_scale_of_a_new_head_alone(tmp_path):
    task = Regression.build(make_encoder(), make_tokenizer(), max_length=30)
    other = Regression.build(task.encoder, make_tokenizer(), max_length=30)
    before = task.predict(["good"])  # compiled before there is a scale
    task.examples(["a", "film"], [10.0, 30.0])
    assert task.scale == (20.0, 10.0)
    assert task.predict(["good"]) == pytest.approx([20 + 10 * before[0]])
    task.examples(["a", "film"], [-1.0, 1.0])
    assert task.scale == (20.0, 10.0), "rows to validate on follow those to train on"
    assert other.scale == (0.0, 1.0), "each head has its own"
    save_model(task.model, tmp_path / "model.keras")
    loaded = Regression(load_model(tmp_path / "model.keras"), make_tokenizer(), max_length=30)
    loaded.examples(["a", "film"], [-1.0, 1.0])
    assert loaded.scale == (20.0, 10.0)
    assert loaded.predict(["good"]) == task.predict(["good"])
    trained = Regression.build(make_encoder(), make_tokenizer(), max_length=30)
    trained.model.get_layer("regressor").bias.assign([0.5])
    trained.examples(["a", "film"], [10.0, 30.0])
    assert trained.scale == (0.0, 1.0), "its weights are in the unit of what it learnt"


def test_an_adapter_keeps_the_scale_of_its_head(tmp_path):
    base = Regression.build(make_encoder(), make_tokenizer(), max_length=30, mean=2000.0, standard_deviation=10.0)
    base.adapt(Lora(rank=2))
    answers = base.predict(["good", "bad"])
    base.save_adapter(tmp_path)
    base.drop_adapter()
    loaded = load_adapter(tmp_path, base)
    assert loaded.scale == (2000.0, 10.0)
    assert loaded.predict(["good", "bad"]) == pytest.approx(answers, abs=1e-3)


def test_loss_and_distance_are_in_units_of_the_scale():
    task = Regression.build(make_encoder(), make_tokenizer(), max_length=30, mean=5000.0, standard_deviation=1000.0)
    assert float(task.loss()(np.array([[5000.0]]), np.array([[3000.0]]))) == pytest.approx(4.0)
    again = keras.losses.deserialize(keras.losses.serialize(task.loss()), custom_objects=CUSTOM_OBJECTS)
    assert again.standard_deviation == 1000.0
    assert task.objective().standard_deviation == 1000.0
    task = Regression.build(make_encoder(), make_tokenizer(), max_length=30, mean=100_000.0, standard_deviation=3.0)
    inputs = task.encode(["good"])
    exact = float(task.model(inputs)[0, 0])
    with computing_in(task.model, "float16"):
        assert float(task.model(inputs)[0, 0]) == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize(("mean", "deviation", "field"), [(0.0, 0.0, "standard_deviation"), (math.inf, 1.0, "mean")])
def test_a_scale_that_cannot_be(mean, deviation, field):
    with pytest.raises(ValueError, match=rf"^Regression\.{field} must be "):
        Regression.build(make_encoder(), make_tokenizer(), max_length=30, mean=mean, standard_deviation=deviation)


def test_other_heads_and_bad_values_are_refused():
    encoder = make_encoder()
    outputs = keras.layers.Dense(1, name="regressor")(encoder.output["pooled_output"])
    with pytest.raises(ValueError, match=r"Regression\.model must have the layer 'regressor' of `build_regressor`"):
        Regression(keras.Model(encoder.input, outputs), make_tokenizer(), max_length=30)
    task = Regression.build(make_encoder(), make_tokenizer(), max_length=30)
    with pytest.raises(ValueError, match=r"values must be as many as texts \(2\), got 1"):
        task.examples(["a", "film"], [1.0])
    with pytest.raises(ValueError, match=r"values\[1\] must be a finite number, got nan"):
        task.examples(["a", "film"], [1.0, float("nan")])
    rule = r"be at most 3\.4028e\+38 in size, the largest number of float32"
    with pytest.raises(ValueError, match=rf"values\[0\] must {rule}, got -1e\+39"):
        task.examples(["a", "film"], [-1e39, 1.0])
    with pytest.raises(TypeError, match=r"values\[0\] must be a number, got '1_2'"):
        task.examples(["a", "film"], ["1_2", 1.0])
    assert np.isfinite(task.examples(["a", "film"], [3.4028234e38, 1.0])[1]).all()
