"""Distributes work over the devices of a `tf.distribute` strategy and synchronizes its processes."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
import tensorflow as tf

from keras_bert.layers.noise import mix
from keras_bert.objectives.base import Batch
from keras_bert.training.cluster import TF_CONFIG, find_cluster


def find_strategy() -> tf.distribute.Strategy:
    """Chooses the `tf.distribute` strategy for the available devices; build and train the model in its scope.

    - several workers (`TF_CONFIG`, see TensorFlow's guide): MultiWorkerMirroredStrategy
    - a TPU (`TPU_NAME`): TPUStrategy
    - several GPUs: MirroredStrategy
    - otherwise one device, the GPU if there is one

    Call it before other TensorFlow functions, because workers must be connected first, and because GPUs are set to take
    memory as they need it, in place of all of it at once. Later calls return the same strategy.
    """
    return _make_strategy(os.environ.get(TF_CONFIG, "{}"), os.environ.get("TPU_NAME", ""))


@functools.cache
def _make_strategy(cluster: str, tpu: str) -> tf.distribute.Strategy:
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


@contextlib.contextmanager
def separate_dropout(model: keras.Model) -> Iterator[None]:
    """Inside of the block, each device drops other values, although the generators of all have the same state."""
    layers = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.Dropout) and layer.rate]
    try:
        for layer in layers:
            layer.seed_generator.next = functools.partial(_next_seed, layer.seed_generator.next)
        yield
    finally:
        for layer in layers:
            del layer.seed_generator.next


def _next_seed(draw: Callable[[], Any]) -> Any:
    """The next seed (2,) of a generator, another on each device."""
    seed, replica = draw(), tf.distribute.get_replica_context()
    number = tf.cast(0 if replica is None else replica.replica_id_in_sync_group, tf.uint32)
    # The second number counts the calls: without `mix`, a device would drop what another drops in a neighbouring step.
    return tf.bitwise.bitwise_xor(seed, tf.stack([tf.zeros((), seed.dtype), tf.cast(mix(number), seed.dtype)]))


class LostWorkerError(ConnectionError):
    """Another process of the training was stopped, has ended, or cannot be reached."""


class Devices:
    """The devices of a `tf.distribute` strategy, in this process and in others; the chief writes the history."""

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self.count: int = strategy.num_replicas_in_sync
        many = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        self.workers: int = strategy.extended._num_workers if many else 1
        self.is_chief: bool = strategy.extended._is_chief if many else True

    def on_all(
        self,
        replica: Callable[..., Any],
        results: tuple[str, ...],
        *,
        reduce_retracing: bool,
        within: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> Any:
        """A `tf.function` that runs `replica` on every device and combines the results, a tuple or None.

        Each result is combined as the `sum` over the devices, or is the `same` on all. All devices run in one context,
        which `within` makes: TensorFlow traces them in threads that take turns, so a context of a device would end
        while another device is inside of its own.
        """

        def collect(kind: str, value: Any) -> Any:
            if kind == "same":
                return tf.nest.map_structure(lambda part: self._strategy.experimental_local_results(part)[0], value)
            add = tf.distribute.ReduceOp.SUM
            return tf.nest.map_structure(lambda part: self._strategy.reduce(add, part, axis=None), value)

        def run(*arguments: Any) -> tuple[Any, ...]:
            with within():
                values = self._strategy.run(replica, arguments)
            return tuple(collect(kind, value) for kind, value in zip(results, values or (), strict=True))

        # Without autograph, which takes seconds a process; no loop or condition here depends on a tensor.
        function = tf.function(run, reduce_retracing=reduce_retracing, autograph=False)
        # Batches of several tasks have a trace each, which TensorFlow would warn of.
        function._omit_frequent_tracing_warning = True
        return function

    def add_up(self, values: Any) -> Any:
        """The sum over all devices; call it inside a replica function."""
        if self.count == 1:
            return values
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)

    def spread(self, read: Callable[..., Iterable[Batch]]) -> Iterable[Batch]:
        """Distributes batches: every device gets its share of the rows of every batch.

        With several devices `read` is called with `shares`, the parts of this process, and `of`, the number of parts;
        see `keras_bert.data.batches.Batches.after`.
        """
        if self.count == 1:
            return read()

        def read_here(context: tf.distribute.InputContext) -> Iterable[Batch]:
            here = context.num_replicas_in_sync // context.num_input_pipelines
            first = context.input_pipeline_id * here
            return read(shares=range(first, first + here), of=context.num_replicas_in_sync)

        return self._strategy.distribute_datasets_from_function(read_here)

    def largest(self, value: float) -> float:
        """The maximum over all workers; a collective call that every worker must make."""
        if self.workers == 1:
            return value

        def gather() -> Any:
            number = tf.constant([value], tf.float32)
            return tf.distribute.get_replica_context().all_gather(number, axis=0)

        return float(tf.reduce_max(self._strategy.experimental_local_results(self._strategy.run(gather))[0]))

    def any_worker(self, *flags: bool) -> tuple[bool, ...]:
        """Whether any worker has set a flag, for every flag; a collective call that every worker must make."""
        return tuple(self.largest(float(flag)) > 0 for flag in flags)

    @contextlib.contextmanager
    def lost_workers_as_errors(self) -> Iterator[None]:
        """Turns TensorFlow's errors about other workers into `LostWorkerError`."""
        try:
            yield
        except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError) as error:
            if self.workers == 1:
                raise
            raise LostWorkerError("another worker of TF_CONFIG has ended or cannot be reached; see its log") from error
