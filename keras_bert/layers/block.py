"""The base classes of layers that are saved with their arguments, and of encoder blocks."""

import inspect
from collections.abc import Mapping
from typing import Any

import keras

from keras_bert.core.config import EncoderConfig


class SavedLayer(keras.layers.Layer):
    """The base class of layers that keep each argument of their constructor as an attribute of its name.

    Saved models hold these arguments: a dropout layer as its rate, a configuration as its plain values.
    """

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = super().get_config()
        for name, parameter in inspect.signature(self.__init__).parameters.items():  # type: ignore[misc]
            if parameter.kind is not parameter.VAR_KEYWORD:
                value = getattr(self, name)
                value = value.as_dict() if isinstance(value, EncoderConfig) else value
                config[name] = value.rate if isinstance(value, keras.layers.Dropout) else value
        return config


class ConfiguredLayer(SavedLayer):
    """The base class of layers that take their settings from the encoder's configuration and save it with them.

    The configuration may be its plain values (`EncoderConfig.as_dict`), as in saved models.
    """

    def __init__(self, config: EncoderConfig | Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = as_config(config)


class TransformerBlock(ConfiguredLayer):
    """The base class of encoder blocks: states (batch, length, hidden) and further inputs -> states of the same shape.

    Every block has the configuration of the complete encoder; `config_of` reads it from the first block of a model. A
    block whose `call` has the argument `first_only` computes only the state of the first token with it, see
    `EncoderBlock.call` and `keras_bert.models.first_token`.
    """

    def compute_output_shape(self, inputs_shape: tuple[int | None, ...], *further: Any) -> Any:
        """The shape of the states. Keras would trace the block to infer it, half of the time to build a model."""
        return inputs_shape

    def weights_from(self, source: "TransformerBlock") -> list[Any]:
        """The weights of this block of a student, copied from a block of its teacher; adapters are not copied."""
        weights = weights_by_path(source)
        return [weights[path].numpy() for path in weights_by_path(self) if path in weights]


def as_config(config: EncoderConfig | Mapping[str, Any]) -> EncoderConfig:
    """Converts the plain values of a configuration to an `EncoderConfig`; a configuration is returned unchanged."""
    return config if isinstance(config, EncoderConfig) else EncoderConfig.from_dict(config)


def weights_by_path(layer: keras.layers.Layer) -> dict[str, Any]:
    """The weights of a layer by their paths relative to the layer."""
    return {weight.path.partition("/")[2]: weight for weight in layer.weights}
