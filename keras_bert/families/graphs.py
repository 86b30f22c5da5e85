"""The model graphs of the families: functions from the inputs of an encoder to its final hidden states."""

from collections.abc import Callable, Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig, Variant
from keras_bert.core.plugins import find_plugins
from keras_bert.families.bigbird.layers import bigbird_states
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.layers import deberta_states
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.layers import gated_states
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.layers import longformer_states
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.layers import mobilebert_states
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.layers import modernbert_states
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.layers import mpnet_states
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.layers import pre_norm_states
from keras_bert.families.pre_norm.settings import PreNorm

# Configuration, and the encoder's inputs by name, each int32 (batch, length) -> states (batch, length, hidden).
STATES: dict[type[Variant], Callable[[EncoderConfig, Mapping[str, Any]], Any]] = {
    BigBird: bigbird_states,
    MobileBERT: mobilebert_states,
    DeBERTa: deberta_states,
    ModernBERT: modernbert_states,
    Longformer: longformer_states,
    MPNet: mpnet_states,
    Gated: gated_states,
    PreNorm: pre_norm_states,
    **{find_plugins("families")[kind].load(): plugin.load() for kind, plugin in find_plugins("family_graphs").items()},
}
