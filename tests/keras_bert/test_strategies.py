import json

import pytest
import tensorflow as tf

from keras_bert.strategies import find_strategy


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
        ("GPUS", "2", "MirroredStrategy"),
    ],
)
def test_several_devices(monkeypatch, variable, value, strategy):
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: ["GPU:0", "GPU:1"])
    monkeypatch.setattr(tf.distribute, strategy, lambda: strategy)
    assert find_strategy() == strategy


def test_a_tf_config_that_is_not_json(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "worker")
    with pytest.raises(ValueError, match="TF_CONFIG must be JSON, got 'worker'"):
        find_strategy()
