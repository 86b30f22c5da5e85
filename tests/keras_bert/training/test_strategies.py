import json
import re

import pytest
import tensorflow as tf

from keras_bert.training.strategies import _make, find_strategy


@pytest.fixture(autouse=True)
def forget():
    yield
    _make.cache_clear()


def test_one_device():
    assert find_strategy() is tf.distribute.get_strategy()


def test_a_cluster_of_one_worker_is_one_device(monkeypatch):
    cluster = {"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    assert find_strategy().num_replicas_in_sync == 1


@pytest.mark.parametrize(
    ("variable", "value", "strategy"),
    [
        ("TF_CONFIG", '{"cluster": {"worker": ["localhost:1", "localhost:2"]}}', "MultiWorkerMirroredStrategy"),
        ("TF_CONFIG", '{"cluster": {"chief": ["a:1"], "worker": ["b:2"]}}', "MultiWorkerMirroredStrategy"),
        ("GPUS", "2", "MirroredStrategy"),
    ],
)
def test_several_devices(monkeypatch, variable, value, strategy):
    monkeypatch.setenv(variable, value)
    _make.cache_clear()
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: ["GPU:0", "GPU:1"])
    monkeypatch.setattr(tf.distribute, strategy, lambda: strategy)
    assert find_strategy() == strategy


@pytest.mark.parametrize("given", ["worker", "[]"])
def test_a_tf_config_that_is_no_object(monkeypatch, given):
    monkeypatch.setenv("TF_CONFIG", given)
    with pytest.raises(ValueError, match=f"TF_CONFIG must be a JSON object, got '{re.escape(given)}'"):
        find_strategy()
