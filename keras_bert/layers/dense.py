"""The dense layer that all other layers contain, with hooks for quantization, pruning and adapters."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer
from keras_bert.layers.tap import Tap

_keeps_axes: ContextVar[bool] = ContextVar("keeps_axes", default=False)


@contextmanager
def kept_axes() -> Iterator[None]:
    """Inside the block, `as_rows` returns its inputs, so that a traced graph has no reshapes around its products."""
    before = _keeps_axes.set(True)
    try:
        yield
    finally:
        _keeps_axes.reset(before)


def as_rows(inputs: Tensor) -> Tensor:
    """(..., width) -> (rows, width): TensorFlow fuses the product of matrices with bias and activation."""
    return inputs if _keeps_axes.get() else ops.reshape(inputs, (-1, inputs.shape[-1]))


@keras.saving.register_keras_serializable("keras_bert")
class Dense(SavedLayer):
    """A dense layer, x W + b, with hooks for quantization-aware training, pruning and adapters.

    `keras.layers.Dense` has no hook for its kernel. Weights start from a truncated normal distribution.

    Attributes:
        kernel_transform: a function that is applied to the kernel (inputs, units) at every call; None for no function.
        adapter: a layer that is called with the inputs (rows, inputs) and the outputs (rows, units) and returns new
            outputs; None for no adapter. See `keras_bert.adaptation`.
    """

    def __init__(self, units: int, initializer_range: float = 0.02, use_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.initializer_range = initializer_range
        self.use_bias = use_bias
        self.kernel_transform: Callable[[Any], Any] | None = None
        self.output_tap = Tap("output_tap")
        self.adapter: keras.layers.Layer | None = None

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Makes kernel (inputs, units) and, with `use_bias`, bias (units,)."""
        initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units), initializer=initializer)
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros", autocast=False)

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """(..., inputs) -> (..., units)."""
        rows = as_rows(inputs)
        kernel = self.kernel if self.kernel_transform is None else self.kernel_transform(self.kernel)
        # `ops.matmul` of three axes by two would reshape, see `kept_axes`.
        outputs = self.output_tap(self._add_bias(rows @ ops.convert_to_tensor(kernel)), training)
        outputs = outputs if self.adapter is None else self.adapter(rows, outputs, training=training)
        if len(outputs.shape) == len(inputs.shape):
            return outputs
        return ops.reshape(outputs, (*ops.shape(inputs)[:-1], self.units))

    def _add_bias(self, x: Tensor) -> Tensor:
        """Adds the bias in float32, and thus sums its gradient over all rows in float32: a bfloat16 sum would stall."""
        if not self.use_bias:
            return x
        if self.compute_dtype == "float32":
            return ops.add(x, self.bias)
        return ops.cast(ops.add(ops.cast(x, "float32"), self.bias), self.compute_dtype)

    def quantize(self, mode: str | None = None, **_: Any) -> None:
        """Refuses `model.quantize` of Keras, which would leave this layer as it is with a warning."""
        raise ValueError(
            f"{type(self).__name__} has no quantization mode {mode!r} of Keras: keras_bert.quantize(task, texts) "
            "quantizes a task, and task.export writes its integers"
        )

    def enable_lora(self, rank: int, **_: Any) -> None:
        """Refuses Keras' own LoRA, for which this layer has no place."""
        raise ValueError(
            f"{type(self).__name__} has no LoRA of Keras: task.adapt(keras_bert.Lora(rank={rank})) adds one to a task"
        )
