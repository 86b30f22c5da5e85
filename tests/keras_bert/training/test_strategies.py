import contextlib
import json
import re
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.fused.block import biased
from keras_bert.fused.layers import fused_blocks
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining
from keras_bert.training.devices import _make_strategy, find_strategy, separate_dropout
from keras_bert.training.precision import computing_in
from tests.keras_bert.models.test_encoder import randomize
from tests.keras_bert.models.test_pretraining import CONFIG, INPUTS

TWO_WORKERS = {"cluster": {"chief": ["a:1"], "worker": ["b:2"]}, "task": {"type": "worker", "index": 0}}


@pytest.fixture(autouse=True)
def forget():
    _make_strategy.cache_clear()
    yield
    _make_strategy.cache_clear()


def test_one_device_or_worker_and_nothing_unknown(monkeypatch):
    assert find_strategy() is tf.distribute.get_strategy()
    cluster = {"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    assert find_strategy().num_replicas_in_sync == 1
    model = build_encoder(CONFIG)
    with pytest.raises(ValueError, match="precision must be one of"), computing_in(model, "int8"):
        pass


@pytest.mark.parametrize(
    ("variable", "value", "strategy"),
    [("TF_CONFIG", json.dumps(TWO_WORKERS), "MultiWorkerMirroredStrategy"), ("GPUS", "2", "MirroredStrategy")],
)
def test_several_devices(monkeypatch, variable, value, strategy):
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: ["GPU:0", "GPU:1"])
    monkeypatch.setattr(tf.distribute, strategy, lambda: strategy)
    assert find_strategy() == strategy


@pytest.mark.parametrize("given", ["worker", "[]"])
def test_a_tf_config_that_is_no_object(monkeypatch, given):
    monkeypatch.setenv("TF_CONFIG", given)
    with pytest.raises(ValueError, match=f"TF_CONFIG must be a JSON object, got '{re.escape(given)}'"):
        find_strategy()


def test_gpus_take_memory_as_they_need_it_before_any_is_used(monkeypatch):
    calls = []
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [f"{kind}:0", f"{kind}:1"])
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda *gpu: calls.append(gpu))
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: calls.append("used") or ["GPU:0", "GPU:1"])
    monkeypatch.setattr(tf.distribute, "MirroredStrategy", lambda: "MirroredStrategy")
    assert find_strategy() == "MirroredStrategy"
    assert calls == [("GPU:0", True), ("GPU:1", True), "used"]


@pytest.mark.parametrize("fuses", [False, True])
def test_no_device_drops_what_another_drops_in_a_step_nearby(monkeypatch, fuses):
    inputs = keras.Input((64,))
    dropped = set()
    for device in range(4):
        replica = SimpleNamespace(replica_id_in_sync_group=device)
        monkeypatch.setattr(tf.distribute, "get_replica_context", lambda replica=replica: replica)
        model = keras.Model(inputs, Dropout(0.5, seed=1)(inputs))
        with separate_dropout(model), fused_blocks(model) if fuses else contextlib.nullcontext():
            dropped |= {model(np.ones((1, 64)), training=True).numpy().tobytes() for _ in range(4)}
        alone = model(np.ones((1, 64)), training=True).numpy()
    assert len(dropped) == 16
    assert alone.tobytes() not in dropped, "the generator is as before"


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_computes_in_a_precision_for_a_while(precision):
    model = build_pretraining(build_encoder(CONFIG))
    randomize(model)
    config, expected = model.to_json(), model(INPUTS)
    with computing_in(model, precision):
        outputs = model(INPUTS)
        assert all(weight.dtype == "float32" for weight in model.trainable_variables)
        assert {keras.backend.standardize_dtype(logits.dtype) for logits in outputs.values()} == {precision}
        for name, logits in outputs.items():
            difference = np.asarray(keras.ops.cast(logits, "float32")) - np.asarray(expected[name])
            assert np.abs(difference).max() < 0.05 * np.abs(expected[name]).max()
    assert model.to_json() == config
    np.testing.assert_array_equal(model(INPUTS)["masked_tokens"], expected["masked_tokens"])


@pytest.mark.parametrize("add", ["layer", "kernel"])
def test_the_gradient_of_a_bias_is_summed_in_float32(add):
    # In bfloat16 a sum of ones stands still at 256.
    rows = tf.ones((4096, 8), tf.bfloat16)
    layer = Dense(8, dtype="mixed_bfloat16")
    layer.build((None, 8))
    bias = layer.bias.value
    with tf.GradientTape() as tape:
        outputs = layer(rows) if add == "layer" else biased(rows, tf.convert_to_tensor(bias), tf.zeros(2, tf.uint32))
        total = tf.reduce_sum(tf.cast(outputs, tf.float32))
    assert outputs.dtype == tf.bfloat16
    assert tape.gradient(total, bias).numpy().tolist() == [4096.0] * 8
