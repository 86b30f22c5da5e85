"""The base of encoder blocks, and of other layers that read the configuration of their encoder."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.config import EncoderConfig


class ConfiguredLayer(keras.layers.Layer):
    """A layer that reads its settings from the configuration of its encoder, and is saved with it.

    Args:
        config: the configuration, or its plain values (`EncoderConfig.as_dict`), which saved models hold.

    Examples:
        >>> config = EncoderConfig(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16, vocabulary_size=20)
        >>> layer = ConfiguredLayer(config)
        >>> ConfiguredLayer.from_config(layer.get_config()).config == config
        True
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = as_config(config)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "config": self.config.as_dict()}


class TransformerBlock(ConfiguredLayer):
    """One layer of an encoder: states (batch, length, hidden) and further inputs -> states of the same shape.

    Every block holds the configuration of the whole encoder: a model is described by its first block.

    Examples:
        >>> config = EncoderConfig(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16, vocabulary_size=20)
        >>> TransformerBlock(config).compute_output_shape((2, 5, 8), (2, 1, 1, 5))
        (2, 5, 8)
    """

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], *further: Any) -> Any:
        """The shape of the states; Keras would run the whole block to find it, half of the time to build a model."""
        return inputs_shape

    def weights_from(self, source: "TransformerBlock") -> list[Any]:
        """The initial weights of this block of a student, copied from a block of its teacher, without adapters."""
        weights = weights_by_path(source)
        return [weights[path].numpy() for path in weights_by_path(self) if path in weights]


def as_config(config: EncoderConfig | Mapping[str, Any]) -> EncoderConfig:
    """A configuration, given as it is or as plain values.

    Examples:
        >>> config = EncoderConfig(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16, vocabulary_size=20)
        >>> as_config(config.as_dict()) == config
        True
    """
    return config if isinstance(config, EncoderConfig) else EncoderConfig.from_dict(config)


def weights_by_path(layer: keras.layers.Layer) -> dict[str, Any]:
    """The weights of a layer of a model by their paths inside the layer.

    Examples:
        >>> layer = keras.layers.Dense(4, name="block_0")
        >>> layer.build((None, 8))
        >>> list(weights_by_path(layer))
        ['kernel', 'bias']
    """
    return {weight.path.partition("/")[2]: weight for weight in layer.weights}
