"""The kinds of graphs besides BERT's."""

from collections.abc import Mapping
from typing import Any

from keras_bert.kinds import read_kind
from keras_bert.variants.base import Variant
from keras_bert.variants.block_sparse import BlockSparse
from keras_bert.variants.bottleneck import Bottleneck
from keras_bert.variants.disentangled import Disentangled
from keras_bert.variants.modern import Modern
from keras_bert.variants.sliding_window import SlidingWindow

_KINDS = (BlockSparse, Bottleneck, Disentangled, Modern, SlidingWindow)
VARIANTS: dict[str, type[Variant]] = {kind.kind: kind for kind in _KINDS}


def read_variant(content: Mapping[str, Any] | None) -> Variant | None:
    """What `Variant.as_dict` wrote; None for None.

    Raises:
        ValueError: there is no such kind, or a field breaks a rule of its kind.
        TypeError: the kind has no such field.
    """
    return None if content is None else read_kind(content, VARIANTS, "Variant")
