"""Settings of BigBird (Zaheer et al. 2020)."""

from typing import Any, ClassVar, Literal

import pydantic

from keras_bert.core.config import Variant
from keras_bert.core.validation import validated_dataclass

AttentionKind = Literal["block_sparse", "full"]

# The number of blocks that a block attends to, except random ones: itself, its two neighbours, the first and the last.
_FIXED_BLOCKS = 5


@validated_dataclass
class BigBird(Variant):
    """BigBird's settings: block-sparse attention to three neighbouring blocks, the first, the last and random blocks.

    The first and the last block attend to all tokens (section 2, figure 1d, with the blocks of appendix D). As in
    transformers, random blocks depend only on the layer, and at inference all of them are the first block.

    Attributes:
        block_size: the number of tokens of a block (appendix E, table 8: 64).
        random_blocks: the number of random blocks (table 8: 3).
        attention: `block_sparse`, or `full` for BERT's attention at every length.

    Examples:
        >>> BigBird(block_size=64, random_blocks=3).longest_full
        704
    """

    span_head: ClassVar[bool] = True
    depends_on_padding: ClassVar[bool] = True

    kind: Literal["bigbird"] = "bigbird"
    block_size: pydantic.PositiveInt = 64
    random_blocks: pydantic.NonNegativeInt = 3
    attention: AttentionKind = "block_sparse"

    @property
    def longest_full(self) -> int:
        """The length in tokens up to which attention is full: shorter texts have too few blocks to draw from."""
        return (_FIXED_BLOCKS + 2 * self.random_blocks) * self.block_size

    def check_shape(self, shape: Any) -> None:
        """See `Variant`; layers cannot share weights, because each has its own random blocks."""
        self._check_fixed(shape, shared_layers=False)
