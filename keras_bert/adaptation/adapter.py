"""An adapter: a few weights that are added to a frozen encoder, and can be attached, detached and merged."""

from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np

from keras_bert.adaptation.parts import Parts, make_parts
from keras_bert.core.digests import digest
from keras_bert.layers.adapters import LowRankAdapter, PromptAwareLayer
from keras_bert.models.encoder import encoder_of
from keras_bert.models.traces import attachments_of
from keras_bert.options.adaptation import Adaptation, Bias, Lora, Prompt
from keras_bert.options.quantization import RECIPES

# Distance from a whole number of steps: float32 leaves 1e-5 of the largest, 127, and unquantized weights nearly 0.5.
_ROUNDING = 1e-2


# The biases of Dense and of LayerNorm (Ben Zaken et al. 2022, section 3).
_BIASES = ("bias", "beta")


class Adapter:
    """The weights that train while the encoder is frozen: new layers or biases, the pooler and the head.

    While an adapter is attached, the encoder's weights do not train, and every Keras model on that encoder runs with
    the adapter. One adapter can be attached at a time; `active` exchanges it temporarily. While it is detached, its
    model refuses to run, to train and to be read, see `Attachments`.

    Raises:
        ValueError: the encoder has no such layers, no biases, or no place for adapters.
    """

    def __init__(self, model: keras.Model, adaptation: Adaptation) -> None:
        attachments = attachments_of(model)
        if attachments is None:
            rule = "hold an encoder of build_encoder, whose first layer keeps adapters"
            raise ValueError(f"the model of an adapter must {rule}, got {model.name!r}")
        encoder = encoder_of(model)
        self._model, self.adaptation, self._attachments = model, adaptation, attachments
        shared = _parts_of(encoder)
        self._head_parts = {part for part in _parts_of(model) if part not in shared}
        # The encoder is looked at without another adapter, which adds weights and freezes others.
        with self._attachments.using(None):
            inside = {id(weight) for weight in encoder.weights}
            self._encoder = [weight for weight in encoder.weights if weight.trainable]
            self._head = [weight for weight in model.trainable_variables if id(weight) not in inside]
            self._changed = _changed_weights(model, self._encoder, adaptation)
            self._values = [weight.numpy() for weight in self._changed]
            self._parts: Parts = make_parts(model, adaptation)
        self._freezes, self._merged = True, False

    @property
    def attached(self) -> bool:
        """Whether the adapter is attached to the encoder now."""
        return self._attachments.attached is self

    def weights(self) -> dict[str, Any]:
        """Path -> weight that training changes, the head's last; read and write them while the adapter is attached."""
        parts = [weight for _, part in self._parts.values() for weight in part.trainable_variables]
        return {weight.path: weight for weight in (*parts, *self._changed, *self._head)}

    def base(self) -> str:
        """A digest of the encoder's weights without the adapter."""
        with self.active(False):
            arrays = [weight.numpy() for weight in self._encoder]
        return digest(part for array in arrays for part in (str(array.shape).encode(), array.tobytes()))

    def owns(self, model: keras.Model) -> bool:
        """Whether a model contains the adapter's head, as its model and those derived from it do."""
        return any(part in self._head_parts for layer in model._flatten_layers() for part in _parts_of(layer))

    def attach(self) -> None:
        """Attaches the adapter until `detach`: all models on the encoder run, and train, with it."""
        check_free(self._model, self)
        self._attachments.exchange(self)

    def detach(self) -> None:
        """Detaches the adapter: the encoder is as before; the head stays."""
        if self.attached:
            self._attachments.exchange(None)

    def drop(self) -> None:
        """Detaches the adapter permanently: its model runs without it from now on."""
        self.detach()
        self._attachments.discard(self)

    def thaw(self) -> None:
        """Unfreezes the encoder's weights, as quantization-aware training changes all of them."""
        self._freezes = False
        for weight in self._encoder:
            weight.trainable = True
        self._attachments.forget_traces()

    def active(self, attached: bool = True) -> AbstractContextManager[None]:
        """A context with the adapter attached, or with `attached=False` with none; other threads wait for its end."""
        return self._attachments.using(self if attached else None)

    @property
    def merges(self) -> bool:
        """Whether the adapter can be merged into the encoder's weights, as LoRA and biases can."""
        return isinstance(self.adaptation, Lora | Bias)

    def merge(self) -> None:
        """Adds the adapter to the encoder's weights, permanently."""
        self._check_mergeable()
        self.drop()
        with self._attachments.using(None):
            for weight, value in zip(self._changed, self._values, strict=True):
                weight.assign(value)
            for layer, part in self._parts.values():
                assert isinstance(part, LowRankAdapter)
                layer.kernel.assign_add(part.kernel_update())
        self._merged = True

    def _check_mergeable(self) -> None:
        if not self.merges:
            raise ValueError(f"adaptation {self.adaptation.kind!r} cannot be merged; it is exported with its model")
        if any(adapter is not self for adapter in self._attachments.adapters()):
            raise ValueError(
                "an adapter must be the only one of its encoder to be merged: it would change the weights that another "
                "one was trained beside; drop that one, or load the checkpoint a second time"
            )
        for path, (layer, _) in self._parts.items():
            bits = grid_bits(layer.kernel.numpy())
            if bits is not None:
                raise ValueError(
                    f"an adapter must be merged before quantization: the kernel of {path!r} lies on a grid of {bits} "
                    "bits, which the sum would leave; export the task with its adapter, or merge and quantize again"
                )

    def insert(self) -> None:
        """Inserts layers, values and the prompt into the encoder, and freezes it; called by `Attachments`."""
        if self._merged:
            raise ValueError("Adapter.attach must not follow a merge: the encoder's weights have the adapter already")
        for layer, part in self._parts.values():
            fill(layer, part)
        self._exchange_values(attached=True)

    def remove(self) -> None:
        """Undoes `insert`; called by `Attachments`."""
        for layer, _ in self._parts.values():
            clear(layer)
        self._exchange_values(attached=False)

    def _exchange_values(self, *, attached: bool) -> None:
        before = [np.array(weight.numpy()) for weight in self._changed]
        for weight, value in zip(self._changed, self._values, strict=True):
            weight.assign(value)
        self._values = before
        trained = {id(weight) for weight in self._changed}
        for weight in self._encoder:
            weight.trainable = not (attached and self._freezes) or id(weight) in trained
        if isinstance(self.adaptation, Prompt):
            for layer in self._model.layers:
                if isinstance(layer, PromptAwareLayer):
                    layer.tokens = self.adaptation.tokens if attached else 0


def check_free(model: keras.Model, adapter: Adapter | None = None) -> None:
    """Refuses an encoder with an attached adapter, other than `adapter`."""
    attachments = attachments_of(model)
    attached: Any = None if attachments is None else attachments.attached
    if attached not in (None, adapter):
        raise ValueError(
            "an encoder must have no other adapter attached, got one of kind "
            f"{attached.adaptation.kind!r}: detach, drop or merge that one first"
        )


def _parts_of(layer: keras.layers.Layer) -> set[Any]:
    """A layer and, of a graph, the operations in it; Keras models compare by identity."""
    return {layer, *getattr(layer, "operations", ())}


def _changed_weights(model: keras.Model, encoder: list[Any], adaptation: Adaptation) -> list[Any]:
    """The encoder weights that training changes; they are exchanged, as others use the encoder without the adapter."""
    pooler = [weight for weight in encoder if weight.path.startswith("pooler/")]
    if not isinstance(adaptation, Bias):
        return pooler
    biases = [weight for weight in encoder if weight.name in _BIASES]
    if not biases:
        raise ValueError(f"Bias needs an encoder with biases, got {model.name!r} without any")
    return pooler + [weight for weight in biases if not weight.path.startswith("pooler/")]


def grid_bits(kernel: Any) -> int | None:
    """The bits of a kernel's quantization grid; None for a kernel (inputs, units) that was not quantized.

    A quantization grid is symmetric, with one scale for each unit, or for each unit and block of inputs, see `RECIPES`:
    the largest value of a block is the last step, and all others are whole numbers of steps.
    """
    grids = {(recipe.weight_bits, recipe.block) for recipe in RECIPES.values() if recipe.integers}
    for bits, block in sorted(grids, key=lambda grid: (grid[0], grid[1] or 0)):
        if _lies_on_grid(np.asarray(kernel, "float64"), 2 ** (bits - 1) - 1, block or len(kernel)):
            return bits
    return None


def _lies_on_grid(kernel: Any, last_step: int, block: int) -> bool:
    inputs, units = kernel.shape
    # Of one value a block, every kernel consists of last steps.
    if block < 2 or inputs % block:
        return False
    blocks = kernel.reshape(-1, block, units)
    largest = np.abs(blocks).max(axis=1, keepdims=True)
    steps = blocks / np.where(largest, largest, 1.0) * last_step
    return bool(largest.any() and (np.abs(steps - np.round(steps)) < _ROUNDING).all())


def fill(layer: keras.layers.Layer, adapter: keras.layers.Layer) -> None:
    """Attaches `adapter` to a layer, which then calls it; its weights are among those of the model."""
    if layer.adapter is not None:
        raise ValueError(f"layer {layer.path!r} must have no adapter yet, got one; detach that first")
    # Keras has no public way to add to a layer that is built; its own `Dense.enable_lora` does the same.
    layer._tracker.unlock()
    layer.adapter = adapter
    layer._tracker.lock()


def clear(layer: keras.layers.Layer) -> None:
    """Detaches the adapter of a layer."""
    layer._tracker.untrack(layer.adapter)
    layer.adapter = None
