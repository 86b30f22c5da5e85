"""One device here; two devices and two processes are `test_trainer`'s, which starts them anyway."""

import numpy as np
import tensorflow as tf

from keras_bert.training.devices import Devices


def test_one_device_needs_nobody():
    devices = Devices(tf.distribute.get_strategy())
    assert (devices.count, devices.workers, devices.is_chief) == (1, 1, True)
    assert devices.largest(-3.0) == -3.0
    assert devices.any_worker(True, False) == (True, False)
    batches = [{"token_ids": np.zeros((2, 3))}]
    assert devices.spread(lambda: batches) is batches


def test_a_function_on_one_device():
    devices = Devices(tf.distribute.get_strategy())
    run = devices.on_all(
        lambda value: ({"twice": 2 * value}, devices.add_up(value)), ("sum", "same"), reduce_retracing=True
    )
    total, same = run(tf.constant([1.0, 2.0]))
    assert total["twice"].numpy().tolist() == [2.0, 4.0]
    assert same.numpy().tolist() == [1.0, 2.0]
