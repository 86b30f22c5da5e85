"""Which devices to train on: found out from the machine and its environment, the same code for all of them."""

import json
import os

import tensorflow as tf


def find_strategy() -> tf.distribute.Strategy:
    """The `tf.distribute` strategy for the devices that there are; build and train the model in its scope.

    Several workers (`TF_CONFIG` names them, as TensorFlow's own guide has it): MultiWorkerMirroredStrategy. A TPU
    (`TPU_NAME`): TPUStrategy. Several GPUs: MirroredStrategy. Else one device, the GPU if there is one.

    Raises:
        ValueError: `TF_CONFIG` is not JSON.
    """
    if len(_workers()) > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if os.environ.get("TPU_NAME"):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(os.environ["TPU_NAME"])
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def _workers() -> list[str]:
    """The addresses of the cluster's workers."""
    given = os.environ.get("TF_CONFIG", "{}")
    try:
        cluster = json.loads(given)
    except json.JSONDecodeError:
        raise ValueError(f"TF_CONFIG must be JSON, got {given!r}") from None
    workers: list[str] = cluster.get("cluster", {}).get("worker", [])
    return workers
