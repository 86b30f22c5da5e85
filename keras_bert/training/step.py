"""The steps of a training under any `tf.distribute` strategy; on a CPU equal seeds and data give equal weights."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from keras_bert.fused.training import compiled_update, fused_blocks
from keras_bert.objectives.base import Batch, Objective, Sums, means
from keras_bert.optimizer import adamw
from keras_bert.options.training import Training
from keras_bert.training.checkpoints import Arrays
from keras_bert.training.devices import Devices
from keras_bert.training.loss_scale import LossScale
from keras_bert.training.precision import computing_in
from keras_bert.training.running_mean import RunningMean


class Batches(Protocol):
    """Batches by number, as `keras_bert.data.batches` has them."""

    per_epoch: int

    def after(self, done: int, *, shares: Sequence[int] = (0,), of: int = 1) -> Iterable[Batch]:
        """The training batches from number `done` on, without end; of each the `shares` of so many."""

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> Iterable[Batch]:
        """All batches of one epoch, likewise."""

    def identity(self) -> dict[str, Any]:
        """What tells them from other batches, as plain values; asked for where there are checkpoints."""


class TrainingStep:
    """Moves a model towards the minimum of an objective with AdamW, one batch after the other.

    A step's batch may come in parts (`Training.accumulation`) and be spread over devices: the gradient is that of the
    whole batch, clipped as a whole.

    Args:
        model: the model to train, built under the scope of `strategy`.
        objective: see `Objective`.
        training: how to train.
        steps: optimizer steps in all, as `Training.count_steps` tells.
        strategy: where to run; the current one if None.
        variables: others than the model's that training changes, and an interrupted training must have again.
        after_step: called with a step's number, from 1, when its weights are there, and before their running mean is.

    Attributes:
        devices: where it runs.
        loss_scale: for float16, else None.
        fresh_step: the last step with a batch of a new shape, which TensorFlow or XLA compiles before it runs; 0 before
            the first step.
    """

    def __init__(
        self,
        model: keras.Model,
        objective: Objective,
        training: Training,
        steps: int,
        strategy: tf.distribute.Strategy | None = None,
        variables: Sequence[tf.Variable] = (),
        after_step: Callable[[int], None] | None = None,
    ) -> None:
        self.model, self.objective, self.training, self.steps = model, objective, training, steps
        self.strategy = strategy or tf.distribute.get_strategy()
        self.devices = Devices(self.strategy)
        self.loss_scale = LossScale() if training.precision == "float16" else None
        self._variables, self._after_step = variables, after_step
        self._used: list[int] = []
        self.fresh_step, self._shapes = 0, set[tuple[Any, ...]]()
        with self.strategy.scope():
            # Clipping is done here, where the whole gradient is.
            self._optimizer = adamw(
                training.learning_rate,
                steps,
                warmup=training.warmup,
                decay=training.decay,
                power=training.power,
                weight_decay=training.weight_decay,
                layer_decay=training.layer_decay,
                clip_norm=None,
            )
            self._optimizer.build(model.trainable_variables)
            self._mean = RunningMean(self._trained() if training.ema else [], training.ema)
            self._gradients = [self._local_copy(weight) for weight in self._trained() if self._in_parts]
        self._make_functions()

    @property
    def _in_parts(self) -> bool:
        """Whether the gradient is found before it is known if, and of what batch, it will be used."""
        return self.training.accumulation > 1 or self.loss_scale is not None

    def _trained(self) -> list[Any]:
        return self.model.trainable_variables

    @staticmethod
    def _local_copy(weight: Any) -> tf.Variable:
        """A variable of zeros that each device has for itself."""
        return tf.Variable(
            tf.zeros(weight.shape),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def _make_functions(self) -> None:
        whole = self.training.xla == "whole"

        def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
            return tf.function(function, jit_compile=True, autograph=False) if whole else function

        # Batches come in several lengths; one graph for all of them is traced once. XLA needs one for each.
        on_all = functools.partial(self.devices.on_all, reduce_retracing=not whole)
        self._differentiate = compiled(self._find_gradients)
        self._measure = compiled(self._evaluate)
        self._run_whole = on_all(self._step_at_once, ("sum", "same"))
        self._run_weights = on_all(self._find_weights, ("same",))
        self._run_part = on_all(self._accumulate, ("sum",))
        self._run_norm = on_all(self._find_norm, ("same",))
        self._run_apply = on_all(self._apply_parts, ())
        self._run_test = on_all(lambda batch: (self._measure(batch),), ("sum",))

    def _find_weights(self, batch: Batch) -> tuple[dict[str, Any]]:
        return (self.devices.add_up(self.objective.weights(batch)),)

    def _find_gradients(self, batch: Batch, weights: Mapping[str, Any], scale: Any) -> tuple[list[Any], Sums]:
        """This device's share of the gradient of those weights that have one, and its sums."""
        with tf.GradientTape() as tape:
            sums = self._evaluate(batch, training=True)
            # Where nothing weighs anything, as in a batch without a masked token, there is nothing to learn.
            loss = tf.add_n([sums[name][0] / tf.maximum(weight, 1e-9) for name, weight in weights.items()]) * scale
        gradients = tape.gradient(loss, [weight.value for weight in self._trained()])
        # Known once the first step is traced: what the objective does not use is not to decay either.
        self._used = [place for place, gradient in enumerate(gradients) if gradient is not None]
        # A sparse gradient, as embeddings have, may hold a row in parts, and then its norm is not the gradient's.
        return [tf.convert_to_tensor(gradients[place]) for place in self._used], sums

    def _evaluate(self, batch: Batch, training: bool = False) -> Sums:
        fused = training and self.training.xla == "parts"
        with (
            computing_in(self.model, self.training.precision),
            fused_blocks(self.model) if fused else contextlib.nullcontext(),
        ):
            sums = self.objective(self.model, batch, training)
        return sums | {"tokens": (tf.reduce_sum(tf.cast(batch["padding_mask"], tf.float32)), tf.constant(1.0))}

    def _step_at_once(self, batch: Batch) -> tuple[Sums, Any]:
        (weights,) = self._find_weights(batch)
        gradients, sums = self._differentiate(batch, weights, tf.constant(1.0))
        gradients = self.devices.add_up(gradients)
        norm = tf.linalg.global_norm(gradients)
        self._apply(gradients, norm, 1.0)
        return sums, norm

    def _accumulate(self, batch: Batch, weights: Mapping[str, Any], scale: Any) -> tuple[Sums]:
        gradients, sums = self._differentiate(batch, weights, scale)
        for place, gradient in zip(self._used, gradients, strict=True):
            self._gradients[place].assign_add(gradient)
        return (sums,)

    def _accumulated(self) -> list[Any]:
        # What is read from a variable has no device yet, which collective operations want.
        return self.devices.add_up([tf.identity(self._gradients[place]) for place in self._used])

    def _find_norm(self, scale: Any) -> tuple[Any]:
        return (tf.linalg.global_norm(self._accumulated()) / scale,)

    def _apply_parts(self, norm: Any, scale: Any, use: bool) -> None:
        if use:
            self._apply(self._accumulated(), norm, scale)
        for total in self._gradients:
            total.assign(tf.zeros_like(total))

    def _apply(self, gradients: Sequence[Any], norm: Any, scale: Any) -> None:
        """Clips by the norm and makes the step; each device has the whole gradient, and the optimizer adds them up."""
        factor = self.training.clip_norm / (tf.maximum(norm, self.training.clip_norm) * scale * self.devices.count)
        if self.training.xla == "parts" and self.devices.count == 1:
            self._compiled_update(gradients, factor)
        else:
            self._optimizer.apply([gradient * factor for gradient in gradients], self._moved())

    @functools.cached_property
    def _compiled_update(self) -> Callable[[Sequence[Any], Any], None]:
        """Made once, in the first step's trace: each new one would be compiled again."""
        return compiled_update(self._optimizer, self._moved())

    def _moved(self) -> list[Any]:
        """The weights that have a gradient."""
        return [self._trained()[place] for place in self._used]

    def trace(self, batches: Any) -> None:
        """Traces a step for batches of any length, where they come in several, before the first of them is there.

        A trace for the length of the first batch would round otherwise than one for all lengths. Which batch is the
        first depends on where a training was interrupted, and its bits must not.

        Args:
            batches: a `tf.data.Dataset` of a single device's batches; of others nothing is known.
        """
        spec = getattr(batches, "element_spec", None)
        if spec is None or self.devices.count > 1 or self.training.xla == "whole" or tf.config.functions_run_eagerly():
            return
        if all(None not in each.shape[1:] for each in tf.nest.flatten(spec)):
            return
        whole: Any = self._run_whole
        weigh: Any = self._run_weights
        part: Any = self._run_part
        if not self._in_parts:
            whole.get_concrete_function(spec)
            return
        (weights,) = weigh.get_concrete_function(spec).structured_outputs
        part.get_concrete_function(spec, weights, tf.TensorSpec([]))

    def step(self, parts: Sequence[Batch], number: int) -> tuple[list[Sums], Any]:
        """Makes one optimizer step.

        Args:
            parts: as many as `Training.accumulation` says, each spread over the devices where there are several.
            number: of the step, from 1.

        Returns:
            The sums of each part, and the norm of the gradient before it is clipped. With float16 a step whose norm is
            not finite changes nothing but the loss scale.
        """
        shapes = {tuple(tuple(value.shape) for value in tf.nest.flatten(part, True)) for part in parts}
        if not shapes <= self._shapes:
            self.fresh_step, self._shapes = number, self._shapes | shapes
        if self._in_parts:
            sums, norm = self._step_in_parts(parts)
        else:
            total, norm = self._run_whole(parts[0])
            sums = [total]
        if self._after_step is not None:
            with self.strategy.scope():
                self._after_step(number)
        if self.training.ema and (self.loss_scale is None or np.isfinite(float(norm))):
            with self.strategy.scope():
                self._mean.update(number)
        return sums, norm

    def _step_in_parts(self, parts: Sequence[Batch]) -> tuple[list[Sums], Any]:
        scale = tf.constant(self.loss_scale.scale if self.loss_scale else 1.0)
        weighed = [self._run_weights(part)[0] for part in parts]
        weights = {name: tf.add_n([weight[name] for weight in weighed]) for name in weighed[0]}
        sums = [self._run_part(part, weights, scale)[0] for part in parts]
        (norm,) = self._run_norm(scale)
        use = True
        if self.loss_scale:
            use = bool(np.isfinite(float(norm)))
            self.loss_scale.update(overflow=not use)
        self._run_apply(norm, scale, use)
        return sums, norm

    def learning_rate(self) -> float:
        """The learning rate of the topmost layers in the last step that was made."""
        return float(self._optimizer._learning_rate(max(0, int(self._optimizer.iterations.numpy()) - 1)))

    def evaluate(self, batches: Batches) -> dict[str, float]:
        """The mean of each metric over an epoch, with dropout off; of the mean weights, if there is a running mean.

        Raises:
            ValueError: there are no batches.
        """
        with self._mean_weights():
            window = [self._run_test(batch)[0] for batch in self.devices.spread(batches.epoch)]
        if not window:
            raise ValueError("there must be at least one batch to evaluate on, got none")
        found = means(window)
        found.pop("tokens")
        return found

    @contextlib.contextmanager
    def _mean_weights(self) -> Iterator[None]:
        """Puts the running mean in the place of the weights for a while."""
        self.swap_mean()
        try:
            yield
        finally:
            self.swap_mean()

    def swap_mean(self) -> None:
        """Weights and their running mean change places, if there is one."""
        with self.strategy.scope():
            self._mean.swap()

    def weights(self) -> Arrays:
        """What the model knows now; of the means of the weights, if there are any."""
        with self._mean_weights():
            return {f"{index}": weight.numpy() for index, weight in enumerate(self._kept())}

    def set_weights(self, arrays: Mapping[str, Any]) -> None:
        """What `weights` told becomes the model's, for good: nothing is trained after it."""
        with self.strategy.scope():
            for index, weight in enumerate(self._kept()):
                weight.assign(arrays[f"{index}"])

    def _kept(self) -> list[Any]:
        return [*self.model.variables, *self._variables]

    def arrays(self) -> Arrays:
        """All numbers that the steps to come depend on."""
        return {name: variable.numpy() for name, variable in self._state()}

    def set_arrays(self, arrays: Mapping[str, Any]) -> None:
        """Goes back to where `arrays` was asked."""
        with self.strategy.scope():
            for name, variable in self._state():
                variable.assign(arrays[name])

    def _state(self) -> list[tuple[str, Any]]:
        groups = {
            "model": self.model.variables,
            "optimizer": self._optimizer.variables,
            "mean": self._mean.variables,
            "other": self._variables,
        }
        return [
            (f"{group}/{index}", variable) for group, found in groups.items() for index, variable in enumerate(found)
        ]
