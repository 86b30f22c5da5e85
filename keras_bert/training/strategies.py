"""Chooses the `tf.distribute` strategy for the devices of this machine and its environment."""

import functools
import json
import os

import tensorflow as tf


def find_strategy() -> tf.distribute.Strategy:
    """Chooses the `tf.distribute` strategy for the available devices; build and train the model in its scope.

    - several workers (`TF_CONFIG`, see TensorFlow's guide): MultiWorkerMirroredStrategy
    - a TPU (`TPU_NAME`): TPUStrategy
    - several GPUs: MirroredStrategy
    - otherwise one device, the GPU if there is one

    Call it before other TensorFlow functions, because workers must be connected first. Later calls return the same
    strategy.

    Raises:
        ValueError: `TF_CONFIG` is not a JSON object.

    Examples:
        >>> find_strategy().num_replicas_in_sync >= 1
        True
    """
    return _make(os.environ.get("TF_CONFIG", "{}"), os.environ.get("TPU_NAME", ""))


@functools.cache
def _make(cluster: str, tpu: str) -> tf.distribute.Strategy:
    if _count_workers(cluster) > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if tpu:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def _count_workers(tf_config: str) -> int:
    """Number of training processes; the chief is a worker, too."""
    try:
        content = json.loads(tf_config)
    except json.JSONDecodeError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, got {tf_config!r}")
    cluster = content.get("cluster", {})
    return sum(len(cluster.get(kind, [])) for kind in ("chief", "worker"))
