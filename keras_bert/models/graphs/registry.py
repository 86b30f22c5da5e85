"""The graph of each variant of the encoder."""

from collections.abc import Callable, Mapping
from typing import Any

from keras_bert.config import EncoderConfig
from keras_bert.models.graphs.block_sparse import block_sparse_states
from keras_bert.models.graphs.bottleneck import bottleneck_states
from keras_bert.models.graphs.disentangled import disentangled_states
from keras_bert.models.graphs.modern import modern_states
from keras_bert.models.graphs.sliding_window import sliding_window_states
from keras_bert.variants.base import Variant
from keras_bert.variants.block_sparse import BlockSparse
from keras_bert.variants.bottleneck import Bottleneck
from keras_bert.variants.disentangled import Disentangled
from keras_bert.variants.modern import Modern
from keras_bert.variants.sliding_window import SlidingWindow

# Configuration, and the encoder's inputs by name, each int32 (batch, length) -> states (batch, length, hidden).
STATES: dict[type[Variant], Callable[[EncoderConfig, Mapping[str, Any]], Any]] = {
    BlockSparse: block_sparse_states,
    Bottleneck: bottleneck_states,
    Disentangled: disentangled_states,
    Modern: modern_states,
    SlidingWindow: sliding_window_states,
}
