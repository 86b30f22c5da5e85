"""What all kinds of encoder blocks have in common."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.config import EncoderConfig


class Block(keras.layers.Layer):
    """One layer of an encoder: states (batch, length, hidden), and further inputs, -> states of the same shape.

    Attributes:
        config: of the whole encoder, which a block of a graph other than BERT's carries; None in BERT's, whose layers
            tell it together.
    """

    config: EncoderConfig | None = None

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], *further: Any) -> Any:
        """The states' own shape; Keras would compute the whole block to find it, half of the time to make a model."""
        return inputs_shape

    def weights_from(self, source: "Block") -> list[Any]:
        """The weights with which this block, one of a student, starts from a teacher's; adapters are not among them."""
        held = by_place(source)
        return [held[place].numpy() for place in by_place(self) if place in held]


class ConfiguredLayer(keras.layers.Layer):
    """A layer that is told the whole configuration of its encoder.

    Args:
        config: of the encoder, or what `EncoderConfig.as_dict` made of it, as saved files have it.
    """

    config: EncoderConfig

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = as_config(config)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "config": self.config.as_dict()}


class VariantBlock(ConfiguredLayer, Block):
    """A block of a graph that is not BERT's, without the parts of `EncoderBlock`."""

    config: EncoderConfig


def as_config(config: EncoderConfig | Mapping[str, Any]) -> EncoderConfig:
    """A configuration, as it is or as plain values."""
    return config if isinstance(config, EncoderConfig) else EncoderConfig.from_dict(config)


def by_place(layer: keras.layers.Layer) -> dict[str, Any]:
    """The weights of a layer of a model by their paths, without the layer's own name."""
    return {weight.path.partition("/")[2]: weight for weight in layer.weights}
