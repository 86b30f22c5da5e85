"""A few weights beside a frozen encoder: attached to it, merged into it, or kept alone."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from keras_bert.adaptation.parts import Parts, make_parts
from keras_bert.adaptation.slots import clear, fill
from keras_bert.digests import digest
from keras_bert.layers.adapters import LowRank, PromptBorder
from keras_bert.models.encoder import encoder_of
from keras_bert.options.adaptation import Adaptation, Bias, Lora, Prompt

# Of Dense, and of LayerNorm (Ben Zaken et al. 2022, section 3).
_BIASES = ("bias", "beta")


class Adapter:
    """What training changes of a model whose encoder stays as it is: new parts or biases, the pooler, and the head.

    While it is attached, the encoder's own weights do not train, and every model on that encoder answers with it. One
    can be attached at a time; `active` changes places for a while.

    Args:
        model: with a head on an encoder.
        adaptation: which weights are to learn.

    Attributes:
        attached: whether it is.

    Raises:
        ValueError: the encoder has no such layers, no biases, or no place for a prompt.
    """

    def __init__(self, model: keras.Model, adaptation: Adaptation) -> None:
        encoder = encoder_of(model)
        inside = {id(weight) for weight in encoder.weights}
        self._model, self.adaptation = model, adaptation
        self._encoder = [weight for weight in encoder.weights if weight.trainable]
        self._head = [weight for weight in model.trainable_variables if id(weight) not in inside]
        # The encoder's own that change: they are exchanged, as others may use the encoder, too.
        self._changed = [weight for weight in self._encoder if weight.path.startswith("pooler/")]
        if isinstance(adaptation, Bias):
            biases = [weight for weight in self._encoder if weight.name in _BIASES]
            if not biases:
                raise ValueError(f"Bias needs an encoder with biases, got {model.name!r} without any")
            self._changed += [weight for weight in biases if not weight.path.startswith("pooler/")]
        self._values = [weight.numpy() for weight in self._changed]
        self._parts: Parts = make_parts(model, adaptation)
        self.attached, self._freezes = False, True

    def weights(self) -> dict[str, Any]:
        """Path -> each weight that training changes, those of the head last; read and written while it is attached."""
        parts = [weight for _, part in self._parts.values() for weight in part.trainable_variables]
        return {weight.path: weight for weight in (*parts, *self._changed, *self._head)}

    def base(self) -> str:
        """Tells the encoder without the adapter from all others."""
        with self.active(False):
            arrays = [weight.numpy() for weight in self._encoder]
        return digest(part for array in arrays for part in (str(array.shape).encode(), array.tobytes()))

    def attach(self) -> None:
        """From here on the model answers, and trains, with it.

        Raises:
            ValueError: another one stands beside the same layers.
        """
        for layer, part in self._parts.values():
            fill(layer, part)
        self.attached = True
        self._exchange()

    def detach(self) -> None:
        """The encoder is as it was; the head stays."""
        for layer, _ in self._parts.values():
            clear(layer)
        self.attached = False
        self._exchange()

    def thaw(self) -> None:
        """From here on the encoder's own weights train, too: quantization rounds all of them."""
        self._freezes = False
        for weight in self._encoder:
            weight.trainable = True

    @contextlib.contextmanager
    def active(self, wanted: bool = True) -> Iterator[None]:
        """Within it the adapter is attached; or, where that is not wanted, it is not."""
        if self.attached == wanted:
            yield
            return
        change, back = (self.attach, self.detach) if wanted else (self.detach, self.attach)
        change()
        try:
            yield
        finally:
            back()

    @property
    def merges(self) -> bool:
        """Whether the encoder's own weights can say the same without it: true of LoRA and of biases."""
        return isinstance(self.adaptation, Lora | Bias)

    def merge(self) -> None:
        """Writes it into the encoder's own weights, for good.

        Raises:
            ValueError: it computes what no weight of the encoder can.
        """
        if not self.merges:
            raise ValueError(f"adaptation {self.adaptation.kind!r} cannot be merged; it is exported with its model")
        if self.attached:
            self.detach()
        for weight, value in zip(self._changed, self._values, strict=True):
            weight.assign(value)
        for layer, part in self._parts.values():
            assert isinstance(part, LowRank)
            layer.kernel.assign_add(part.change())

    def _exchange(self) -> None:
        """What of the encoder changes, trains, and is in front of the tokens: with the adapter, or without it."""
        before = [np.array(weight.numpy()) for weight in self._changed]
        for weight, value in zip(self._changed, self._values, strict=True):
            weight.assign(value)
        self._values = before
        trained = {id(weight) for weight in self._changed}
        for weight in self._encoder:
            weight.trainable = not (self.attached and self._freezes) or id(weight) in trained
        if isinstance(self.adaptation, Prompt):
            for layer in self._model.layers:
                if isinstance(layer, PromptBorder):
                    layer.tokens = self.adaptation.tokens if self.attached else 0
