"""How work is spread over the devices of a `tf.distribute` strategy, and what the processes agree on."""

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from keras_bert.objectives.base import Batch


class Devices:
    """The devices of a strategy, in this process and in others.

    Args:
        strategy: see `tf.distribute`.

    Attributes:
        count: how many there are in all processes.
        workers: how many processes train together.
        is_chief: whether this process is the one of several that keeps the record.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        self.count: int = strategy.num_replicas_in_sync
        many = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        self.workers: int = strategy.extended._num_workers if many else 1
        self.is_chief: bool = strategy.extended._is_chief if many else True

    def on_all(
        self, replica: Callable[..., Any], results: tuple[str, ...], *, reduce_retracing: bool
    ) -> Callable[..., tuple[Any, ...]]:
        """A function of the host that calls another on every device.

        Args:
            replica: what each device does; it gives a tuple, or None where there are no results.
            results: what to make of the results: the `sum` over devices, or the one that is the `same` on all of them.
            reduce_retracing: see `tf.function`.
        """

        def collect(kind: str, value: Any) -> Any:
            if kind == "same":
                return tf.nest.map_structure(lambda part: self._strategy.experimental_local_results(part)[0], value)
            add = tf.distribute.ReduceOp.SUM
            return tf.nest.map_structure(lambda part: self._strategy.reduce(add, part, axis=None), value)

        def run(*arguments: Any) -> tuple[Any, ...]:
            found = self._strategy.run(replica, arguments)
            return tuple(collect(kind, value) for kind, value in zip(results, found or (), strict=True))

        # To rewrite Python as a graph takes seconds a process, and no loop or condition here is on a tensor.
        return tf.function(run, reduce_retracing=reduce_retracing, autograph=False)

    def add_up(self, values: Any) -> Any:
        """Within a device's part of the work: the sum over all devices."""
        if self.count == 1:
            return values
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)

    def spread(self, read: Callable[..., Iterable[Batch]]) -> Iterable[Batch]:
        """Batches for the devices: each has its share of the rows of every batch.

        Args:
            read: gives the batches; told which `shares` are wanted in this process, `of` how many, where there are
                several devices.
        """
        if self.count == 1:
            return read()

        def read_here(context: tf.distribute.InputContext) -> Iterable[Batch]:
            here = context.num_replicas_in_sync // context.num_input_pipelines
            first = context.input_pipeline_id * here
            return read(shares=range(first, first + here), of=context.num_replicas_in_sync)

        return self._strategy.distribute_datasets_from_function(read_here)

    def largest(self, value: float) -> float:
        """The largest of what the workers give; all of them must ask."""
        if self.workers == 1:
            return value

        def gather() -> Any:
            number = tf.constant([value], tf.float32)
            return tf.distribute.get_replica_context().all_gather(number, axis=0)

        return float(tf.reduce_max(self._strategy.experimental_local_results(self._strategy.run(gather))[0]))

    def any_worker(self, *flags: bool) -> tuple[bool, ...]:
        """For each flag, whether some worker has set it; all of them must ask."""
        return tuple(self.largest(float(flag)) > 0 for flag in flags)
