"""Chooses the `tf.distribute` strategy for the devices of this machine and its environment."""

import functools
import os

import tensorflow as tf

from keras_bert.training.cluster import TF_CONFIG, find_cluster


def find_strategy() -> tf.distribute.Strategy:
    """Chooses the `tf.distribute` strategy for the available devices; build and train the model in its scope.

    - several workers (`TF_CONFIG`, see TensorFlow's guide): MultiWorkerMirroredStrategy
    - a TPU (`TPU_NAME`): TPUStrategy
    - several GPUs: MirroredStrategy
    - otherwise one device, the GPU if there is one

    Call it before other TensorFlow functions, because workers must be connected first, and because GPUs are set to take
    memory as they need it, in place of all of it at once. Later calls return the same strategy.

    Raises:
        ValueError: `TF_CONFIG` is not a JSON object of a cluster and a task in it.
    """
    return _make(os.environ.get(TF_CONFIG, "{}"), os.environ.get("TPU_NAME", ""))


@functools.cache
def _make(cluster: str, tpu: str) -> tf.distribute.Strategy:
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    if find_cluster(cluster) is not None:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if tpu:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()
