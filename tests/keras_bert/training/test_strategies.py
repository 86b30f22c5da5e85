import json
import re

import pytest
import tensorflow as tf

from keras_bert.training.devices import _make_strategy, find_strategy

TWO_WORKERS = {"cluster": {"chief": ["a:1"], "worker": ["b:2"]}, "task": {"type": "worker", "index": 0}}


@pytest.fixture(autouse=True)
def forget():
    _make_strategy.cache_clear()
    yield
    _make_strategy.cache_clear()


def test_one_device():
    assert find_strategy() is tf.distribute.get_strategy()


def test_a_cluster_of_one_worker_is_one_device(monkeypatch):
    cluster = {"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    assert find_strategy().num_replicas_in_sync == 1


@pytest.mark.parametrize(
    ("variable", "value", "strategy"),
    [
        ("TF_CONFIG", json.dumps(TWO_WORKERS), "MultiWorkerMirroredStrategy"),
        ("GPUS", "2", "MirroredStrategy"),
    ],
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
