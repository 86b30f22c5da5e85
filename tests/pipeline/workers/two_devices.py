"""Imported by a fork server: two CPU devices stand in for two GPUs in every step; trainings write it to their log."""

import functools
import os

import tensorflow as tf

from keras_bert.training import devices

DEVICES = ["CPU:0", "CPU:1"]


@functools.cache
def mirror(cluster, tpu):
    strategy = tf.distribute.MirroredStrategy(DEVICES)
    os.write(1, f"devices: {strategy.num_replicas_in_sync}\n".encode())
    return strategy


(processor,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration() for _ in DEVICES])
devices._make_strategy = mirror
