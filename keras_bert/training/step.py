"""Optimizer steps under any `tf.distribute` strategy; on a CPU, equal seeds and data give equal weights."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from keras_bert.core.checks import check
from keras_bert.fused.block import compiled_update
from keras_bert.fused.layers import fused_blocks
from keras_bert.models.optimizer import adamw
from keras_bert.models.traces import check_attached
from keras_bert.objectives.base import Batch, Objective, Sums, means
from keras_bert.options.training import Training
from keras_bert.training.checkpoints import Arrays
from keras_bert.training.devices import Devices, separate_dropout
from keras_bert.training.gradient_cache import CrossMicroBatchObjective, GradientCache, count_tokens
from keras_bert.training.precision import LossScale, computing_in
from keras_bert.training.running_mean import RunningMean
from keras_bert.training.seeds import seed_states


class BatchSource(Protocol):
    """Numbered batches; `keras_bert.data.batches.Batches` is one."""

    per_epoch: int

    def after(self, done: int, *, shares: Sequence[int] = (0,), of: int = 1) -> Iterable[Batch]:
        """Endless batches, from number `done` on; each is cut into `of` parts, and the parts `shares` are returned."""

    def epoch(self, number: int = 0, *, shares: Sequence[int] = (0,), of: int = 1) -> Iterable[Batch]:
        """All batches of an epoch; each is cut into `of` parts, and the parts `shares` are returned."""

    def identity(self) -> dict[str, Any]:
        """Plain values that identify the batches; only needed for checkpoints."""


class TrainingStep:
    """Runs AdamW steps that minimize an objective.

    The batch of a step may come in parts (gradient accumulation, `Training.accumulation`) and be distributed over
    devices. The gradient is always the gradient of the whole batch, and it is clipped as a whole.

    The model is built under the scope of `strategy`, by default the current one. `variables` are changed by training,
    too, and are in checkpoints. `after_step` is called with the number of a step, from 1, after the weights and before
    their running mean change.

    `loss_scale` is that of float16, else None. `fresh_step` is the last step with a batch of a new shape, which
    TensorFlow or XLA had to compile; 0 before the first step.
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
        check_attached(model)
        self.model, self.objective, self.training, self.steps = model, objective, training, steps
        self.strategy = strategy or tf.distribute.get_strategy()
        self.devices = Devices(self.strategy)
        self.loss_scale = LossScale() if training.precision == "float16" else None
        self._variables, self._after_step = variables, after_step
        # Whether gradients are accumulated before they are applied.
        self._in_parts = training.accumulation > 1 or self.loss_scale is not None
        self._trained: list[Any] = model.trainable_variables
        self._used: list[int] = []
        self._update: Callable[[Sequence[Any], Any], None] | None = None
        self.fresh_step, self._shapes = 0, set[tuple[Any, ...]]()
        with self.strategy.scope():
            # No clipping by the optimizer: `_apply` clips, where the whole gradient is available.
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
            self._mean = RunningMean(self._trained if training.ema else [], training.ema)
            # Variables of zeros with a separate value on every device.
            self._gradients = [
                tf.Variable(
                    tf.zeros(weight.shape),
                    trainable=False,
                    synchronization=tf.VariableSynchronization.ON_READ,
                    aggregation=tf.VariableAggregation.SUM,
                )
                for weight in (self._trained if self._in_parts else [])
            ]
        self._make_functions()
        self._cache = self._make_cache()

    def _make_functions(self) -> None:
        whole = self.training.xla == "whole"

        def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
            return tf.function(function, jit_compile=True, autograph=False) if whole else function

        # Batches have several lengths. One graph serves all of them, but XLA needs one a length.
        on_all = functools.partial(self.devices.on_all, reduce_retracing=not whole)
        self._differentiate = compiled(self._find_gradients)
        self._measure = compiled(lambda batch: self.objective(self.model, batch, False))
        training, testing = (functools.partial(self._computing, training=training) for training in (True, False))
        self._run_whole = on_all(self._step_at_once, ("sum", "same"), within=training)
        self._run_weights = on_all(lambda batch: (self._whole_weights(batch),), ("same",))
        self._run_part = on_all(self._accumulate, ("sum",), within=training)
        self._run_norm = on_all(lambda scale: (tf.linalg.global_norm(self._accumulated()) / scale,), ("same",))
        self._run_apply = on_all(self._apply_parts, ())
        self._run_test = on_all(lambda batch: (self._measure(batch),), ("sum",), within=testing)

    def _make_cache(self) -> GradientCache | None:
        """The cache of an objective that compares the rows of all parts; None where rows of one part are enough."""
        objective = self.objective
        crosses = isinstance(objective, CrossMicroBatchObjective) and objective.crosses_micro_batches
        if not crosses or not self._in_parts:
            return None
        rule = "be false with several devices, as each of them only sees its own rows"
        check("Contrast", "across_micro_batches", self.devices.count == 1, rule, True)
        assert isinstance(objective, CrossMicroBatchObjective)
        whole = self.training.xla == "whole"
        states = [state.value for state in seed_states(self.model)]

        def forward(batch: Batch) -> Any:
            with self._computing(training=True):
                return objective.run(self.model, batch, training=True)

        return GradientCache(
            objective,
            forward,
            self._trained,
            [*states, *self._variables],
            self._gradients,
            lambda function: tf.function(function, jit_compile=whole, reduce_retracing=not whole, autograph=False),
        )

    def _whole_weights(self, batch: Batch) -> dict[str, Any]:
        """The weights of the losses in a batch that is distributed over devices."""
        weights: dict[str, Any] = self.devices.add_up(self.objective.weights(batch))
        return weights

    def _find_gradients(self, batch: Batch, weights: Mapping[str, Any], scale: Any) -> tuple[list[Any], Sums]:
        """The gradients of this device's rows, for weights that have one, and the sums of its losses and metrics."""
        with tf.GradientTape() as tape:
            sums = self.objective(self.model, batch, True) | {"tokens": (count_tokens(batch), tf.constant(1.0))}
            # The weight is 0 if there is nothing to learn, as in a batch without masked tokens.
            loss = tf.add_n([sums[name][0] / tf.maximum(weight, 1e-9) for name, weight in weights.items()]) * scale
        gradients = tape.gradient(loss, [weight.value for weight in self._trained])
        # Known after the first trace. Weights that the objective does not use must not decay either.
        self._used = [index for index, gradient in enumerate(gradients) if gradient is not None]
        # Dense gradients, because a sparse one may contain a row several times, which makes its norm wrong.
        return [tf.convert_to_tensor(gradients[index]) for index in self._used], sums

    @contextlib.contextmanager
    def _computing(self, training: bool) -> Iterator[None]:
        """The precision of the training, and in training with `xla="parts"` fused blocks."""
        fuses = training and self.training.xla == "parts"
        with (
            computing_in(self.model, self.training.precision),
            separate_dropout(self.model) if training and self.devices.count > 1 else contextlib.nullcontext(),
            fused_blocks(self.model) if fuses else contextlib.nullcontext(),
        ):
            yield

    def _step_at_once(self, batch: Batch) -> tuple[Sums, Any]:
        gradients, sums = self._differentiate(batch, self._whole_weights(batch), tf.constant(1.0))
        gradients = self.devices.add_up(gradients)
        norm = tf.linalg.global_norm(gradients)
        self._apply(gradients, norm, 1.0)
        return sums, norm

    def _accumulate(self, batch: Batch, weights: Mapping[str, Any], scale: Any) -> tuple[Sums]:
        gradients, sums = self._differentiate(batch, weights, scale)
        for index, gradient in zip(self._used, gradients, strict=True):
            self._gradients[index].assign_add(gradient)
        return (sums,)

    def _accumulated(self) -> list[Any]:
        # `identity`, because collective operations need a tensor that is placed on a device.
        return self.devices.add_up([tf.identity(self._gradients[index]) for index in self._used])

    def _apply_parts(self, norm: Any, scale: Any, use: bool) -> None:
        if use:
            self._apply(self._accumulated(), norm, scale)
        for total in self._gradients:
            total.assign(tf.zeros_like(total))

    def _apply(self, gradients: Sequence[Any], norm: Any, scale: Any) -> None:
        """Clips and applies the gradients; divides by the device count, because the optimizer sums over devices."""
        factor = self.training.clip_norm / (tf.maximum(norm, self.training.clip_norm) * scale * self.devices.count)
        weights = [self._trained[index] for index in self._used]
        if self.training.xla == "parts" and self.devices.count == 1:
            # Created once, because XLA would compile every new function again.
            self._update = self._update or compiled_update(self._optimizer, weights)
            self._update(gradients, factor)
        else:
            self._optimizer.apply([gradient * factor for gradient in gradients], weights)

    def trace(self, batches: Any) -> None:
        """Traces a step for batches of all lengths before the first one is read, if they have an `element_spec`.

        Batches with different entries have `element_specs`, one for each kind.

        A trace for the length of the first batch would round differently from one for all lengths. The first batch
        depends on where a training was interrupted, but the resulting weights must not.
        """
        specs = getattr(batches, "element_specs", [getattr(batches, "element_spec", None)])
        if self.training.xla == "whole" or tf.config.functions_run_eagerly():
            return
        for spec in specs:
            tensors = tf.nest.flatten(spec, expand_composites=True)
            if spec is not None and any(None in tensor_spec.shape[1:] for tensor_spec in tensors):
                self._trace(spec)

    def _trace(self, spec: Any) -> None:
        if self._cache is not None:
            self._cache.trace(spec)
        elif self._in_parts:
            (weights,) = self._run_weights.get_concrete_function(spec).structured_outputs
            self._run_part.get_concrete_function(spec, weights, tf.TensorSpec([]))
        else:
            self._run_whole.get_concrete_function(spec)

    def step(self, parts: Sequence[Batch], number: int) -> tuple[list[Sums], Any]:
        """Runs an optimizer step, with a number from 1, on `Training.accumulation` batches spread over the devices.

        Returns the sums of every part, and the norm of the gradient before clipping. With float16, a step whose norm is
        not finite changes the loss scale only.
        """
        shapes = {tuple(tuple(value.shape) for value in tf.nest.flatten(part, True)) for part in parts}
        if not shapes <= self._shapes:
            self.fresh_step, self._shapes = number, self._shapes | shapes
        if not self._in_parts:
            total, norm = self._run_whole(parts[0])
            sums = [total]
        else:
            scale, use = tf.constant(self.loss_scale.scale if self.loss_scale else 1.0), True
            if self._cache is not None:
                sums = [self._cache.accumulate(parts, scale)]
                self._used = self._cache.used
            else:
                part_weights = [self._run_weights(part)[0] for part in parts]
                weights = {name: tf.add_n([weight[name] for weight in part_weights]) for name in part_weights[0]}
                sums = [self._run_part(part, weights, scale)[0] for part in parts]
            (norm,) = self._run_norm(scale)
            if self.loss_scale:
                use = bool(np.isfinite(float(norm)))
                self.loss_scale.update(overflow=not use)
            self._run_apply(norm, scale, use)
        if self._after_step is not None:
            with self.strategy.scope():
                self._after_step(number)
        if self.training.ema and (self.loss_scale is None or np.isfinite(float(norm))):
            with self.strategy.scope():
                self._mean.update(number)
        return sums, norm

    def learning_rate(self) -> float:
        """The learning rate of the top layers in the last step."""
        return float(self._optimizer._learning_rate(max(0, int(self._optimizer.iterations.numpy()) - 1)))

    def evaluate(self, batches: BatchSource) -> dict[str, float]:
        """The mean of every metric over an epoch, without dropout; uses averaged weights if there is a running mean."""
        with self._mean_weights():
            window = [self._run_test(batch)[0] for batch in self.devices.spread(batches.epoch)]
        if not window:
            raise ValueError("there must be at least one batch to evaluate on, got none")
        return means(window)

    @contextlib.contextmanager
    def _mean_weights(self) -> Iterator[None]:
        """Replaces the weights by their running mean inside the block."""
        self.swap_mean()
        try:
            yield
        finally:
            self.swap_mean()

    def swap_mean(self) -> None:
        """Exchanges the weights and their running mean, if there is one."""
        with self.strategy.scope():
            self._mean.swap()

    def weights(self) -> Arrays:
        """The current weights of the model, averaged if there is a running mean."""
        with self._mean_weights():
            return {f"{index}": weight.numpy() for index, weight in enumerate(self._kept())}

    def set_weights(self, arrays: Mapping[str, Any]) -> None:
        """Assigns weights that `weights` returned, to the running mean as well."""
        with self.strategy.scope():
            for index, weight in enumerate(self._kept()):
                weight.assign(arrays[f"{index}"])
            self._mean.reset()

    def _kept(self) -> list[Any]:
        return [*self.model.variables, *self._variables]

    def arrays(self) -> Arrays:
        """All arrays that further steps depend on."""
        return {name: variable.numpy() for name, variable in self._state()}

    def set_arrays(self, arrays: Mapping[str, Any]) -> None:
        """Restores arrays that `arrays` returned."""
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
            (f"{group}/{index}", variable)
            for group, variables in groups.items()
            for index, variable in enumerate(variables)
        ]


@contextlib.contextmanager
def temporary_custom_gradients() -> Iterator[None]:
    """On exit, unregisters the custom gradients of all functions that were traced inside the block.

    TensorFlow registers the gradient of every call of a function with a custom gradient under a new name and never
    removes it, nor the graph and the variables that it refers to. A process that trained several models kept the
    weights and moments of all of them, 240 MB for 15 million parameters, and every training was slower than the one
    before. A name is looked up only while a gradient is traced, so the functions still run and can be traced again.
    """
    registry = ops.gradient_registry._registry
    previous_names = set(registry)
    try:
        yield
    finally:
        for name in [name for name in registry if name.startswith("CustomGradient-") and name not in previous_names]:
            del registry[name]
