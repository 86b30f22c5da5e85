"""BigBird: attention to neighbouring blocks, to the first and the last one, and to random ones (Zaheer et al. 2020)."""

import dataclasses
from typing import Any, ClassVar, Literal, get_args

from keras_bert.checks import check
from keras_bert.variants.base import Variant

AttentionKind = Literal["block_sparse", "full"]

# Blocks that a block of queries sees besides the random ones: itself, its two neighbours, the first and the last.
_FIXED = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockSparse(Variant):
    """Scores of attention in blocks: each sees three neighbouring blocks, the first, the last and some random ones.

    The first and the last see all (section 2, figure 1d, in the blocks of appendix D). As in transformers, which blocks
    are random depends on the layer alone, and while a model does not train, all of them are the first block.

    Attributes:
        block_size: tokens (appendix E, table 8: 64).
        random_blocks: that a block sees besides (table 8: 3).
        attention: `full` is BERT's, whatever the length.
    """

    kind: ClassVar[str] = "block_sparse"
    span_head: ClassVar[bool] = True
    depends_on_padding: ClassVar[bool] = True

    block_size: int = 64
    random_blocks: int = 3
    attention: AttentionKind = "block_sparse"

    def __post_init__(self) -> None:
        for field, least in (("block_size", 1), ("random_blocks", 0)):
            found = getattr(self, field)
            check("BlockSparse", field, found >= least, f"be at least {least}", found)
        known = get_args(AttentionKind)
        check("BlockSparse", "attention", self.attention in known, f"be one of {known}", self.attention)

    @property
    def longest_full(self) -> int:
        """Tokens up to which the attention is BERT's: there are no more blocks than sparse attention needs."""
        return (_FIXED + 2 * self.random_blocks) * self.block_size

    def check_shape(self, shape: Any) -> None:
        """See `Variant`: random blocks are drawn for each layer."""
        self._check_fixed(shape, shared_layers=False)
