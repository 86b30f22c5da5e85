"""The base class of layers that search for the separator token."""

from typing import Any

from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.block import SavedLayer


class SeparatorReader(SavedLayer):
    """The base class of layers that search for the id of the separator among token ids, or for none.

    Every layer that stores a token id must derive from it: `keras_bert.compress.vocabulary` changes the id when it
    reduces the vocabulary.
    """

    def __init__(self, separator: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.separator = separator

    def before_separator(self, token_ids: Tensor) -> Tensor:
        """Token ids int32 (batch, length) -> int32 (batch, length): 1 before a row's first separator, 0 from it on."""
        assert self.separator is not None
        ends = ops.cast(ops.equal(token_ids, self.separator), "int32")
        return ops.cast(ops.equal(ops.cumsum(ends, axis=1), 0), "int32")
