"""Which devices to train on: found out from the machine and its environment, the same code for all of them."""

import functools
import json
import os

import tensorflow as tf


def find_strategy() -> tf.distribute.Strategy:
    """The `tf.distribute` strategy for the devices that there are; build and train the model in its scope.

    Several workers (`TF_CONFIG` names them, as TensorFlow's own guide has it): MultiWorkerMirroredStrategy. A TPU
    (`TPU_NAME`): TPUStrategy. Several GPUs: MirroredStrategy. Else one device, the GPU if there is one.

    Call it before anything else is asked of TensorFlow: workers can only be joined then. Later calls give the same.

    Raises:
        ValueError: `TF_CONFIG` is no JSON object.
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


def _count_workers(given: str) -> int:
    """How many processes train; a chief is a worker, too."""
    try:
        content = json.loads(given)
    except json.JSONDecodeError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, got {given!r}")
    cluster = content.get("cluster", {})
    return sum(len(cluster.get(kind, [])) for kind in ("chief", "worker"))
