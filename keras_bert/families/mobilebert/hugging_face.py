"""The checkpoint format of MobileBERT (Sun et al. 2020)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.families.hugging_face import BOTH_HEADS, CLASSES, ENCODER, KEYS, Family
from keras_bert.families.mobilebert.settings import MobileBERT

_BLOCK = "block_{}/"
_LAYER = "encoder.layer.{}."
_FEED_FORWARD, _NUMBERED = "feed_forward_{}", "ffn.{}."
# Our field -> the key of `config.json`.
_KEYS = {
    "bottleneck_size": "intra_bottleneck_size",
    "feed_forwards": "num_feedforward_networks",
    "normalization": "normalization_type",
    "bottleneck_attention": "use_bottleneck_attention",
}
_SHARED = "key_query_shared_bottleneck"


def _read(content: Mapping[str, Any]) -> MobileBERT:
    for field, key in _KEYS.items():
        kind, value = type(getattr(MobileBERT(), field)), content[key]
        check("mobilebert", key, type(value) is kind, f"be of type {kind.__name__}", value)
    separate, shared = content[_KEYS["bottleneck_attention"]], content[_SHARED]
    # With both, transformers has an unused layer; with neither, its shapes do not match.
    rule = f"be {not separate} where {_KEYS['bottleneck_attention']} is {separate}"
    check("mobilebert", _SHARED, shared is (not separate), rule, shared)
    return MobileBERT(**{field: content[key] for field, key in _KEYS.items()})


def _write(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, MobileBERT)
    return {key: getattr(variant, field) for field, key in _KEYS.items()} | {_SHARED: not variant.bottleneck_attention}


FAMILIES = (
    Family(
        name="mobilebert",
        title="MobileBert",
        prefix="mobilebert.",
        encoder={
            **ENCODER,
            "embedding_projection/dense": "embeddings.embedding_transformation",
            f"{_BLOCK}input_bottleneck": f"{_LAYER}bottleneck.input.dense",
            f"{_BLOCK}input_bottleneck_norm": f"{_LAYER}bottleneck.input.LayerNorm",
            f"{_BLOCK}attention_bottleneck": f"{_LAYER}bottleneck.attention.dense",
            f"{_BLOCK}attention_bottleneck_norm": f"{_LAYER}bottleneck.attention.LayerNorm",
            f"{_BLOCK}{_FEED_FORWARD}/intermediate": f"{_LAYER}{_NUMBERED}intermediate.dense",
            f"{_BLOCK}{_FEED_FORWARD}/output_projection": f"{_LAYER}{_NUMBERED}output.dense",
            f"{_BLOCK}{_FEED_FORWARD}_norm": f"{_LAYER}{_NUMBERED}output.LayerNorm",
            f"{_BLOCK}output_bottleneck": f"{_LAYER}output.bottleneck.dense",
            f"{_BLOCK}output_bottleneck_norm": f"{_LAYER}output.bottleneck.LayerNorm",
            "pooler/dense": "pooler.dense",
        },
        heads={**BERT.heads, "masked_token_columns": "cls.predictions.dense"},
        decoder=BERT.decoder,
        classes=(*CLASSES, BOTH_HEADS),
        keys={**KEYS, "embedding_size": "embedding_size", "pooler_activation": "classifier_activation"},
        values={"pooler_activation": {True: "tanh", False: "none"}},
        defaults={
            "layer_norm_eps": 1e-12,
            "embedding_size": 128,
            "classifier_activation": True,
            "intra_bottleneck_size": 128,
            "num_feedforward_networks": 4,
            "normalization_type": "no_norm",
            "use_bottleneck_attention": False,
            _SHARED: True,
        },
        only={"use_bottleneck": True, "trigram_input": True},
        variant=MobileBERT,
        read_variant=_read,
        write_variant=_write,
    ),
)
