"""Settings of the graph of static models."""

from typing import Literal

from keras_bert.core.config import EncoderShape, Variant
from keras_bert.core.validation import validated_dataclass


@validated_dataclass
class Static(Variant):
    """A vector and a weight for each token, without attention or positions.

    Attributes:
        ignored: the ids of special tokens, which have no part in the mean.
    """

    kind: Literal["static"] = "static"
    ignored: tuple[int, ...] = ()

    def check_shape(self, shape: EncoderShape) -> None:
        self._check_fixed(shape, num_layers=1, num_segments=0, embedding_size=None, shared_layers=False)
