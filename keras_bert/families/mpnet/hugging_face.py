"""The checkpoint format of MPNet (Song et al. 2020)."""

from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.hugging_face import ROBERTA_HEADS
from keras_bert.families.hugging_face import ENCODER, KEYS, TEXT_HEAD, Family
from keras_bert.families.mpnet.settings import MPNet

_BUCKETS = "relative_attention_num_buckets"


def _write(config: EncoderConfig) -> dict[str, Any]:
    assert isinstance(config.variant, MPNet)
    return {_BUCKETS: config.variant.position_buckets}


FAMILIES = (
    Family(
        name="mpnet",
        title="MPNet",
        prefix="mpnet.",
        encoder={
            **{layer: stem for layer, stem in ENCODER.items() if layer != "segment_embedding"},
            "relative_bias": "encoder.relative_attention_bias",
            "block_{}/attention/query": "encoder.layer.{}.attention.attn.q",
            "block_{}/attention/key": "encoder.layer.{}.attention.attn.k",
            "block_{}/attention/value": "encoder.layer.{}.attention.attn.v",
            "block_{}/attention/output_projection": "encoder.layer.{}.attention.attn.o",
            "block_{}/attention_norm": "encoder.layer.{}.attention.LayerNorm",
            "pooler/dense": "pooler.dense",
        },
        heads=ROBERTA_HEADS,
        text_head=TEXT_HEAD,
        decoder="lm_head.decoder",
        keys={field: key for field, key in KEYS.items() if field != "num_segments"},
        # As in RoBERTa, the position of the first token is pad_token_id + 1.
        fixed={"num_segments": 0, "position_offset": 2},
        # transformers computes 32 buckets, whatever the file says.
        only={"pad_token_id": 1, _BUCKETS: 32},
        defaults={
            **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.1),
            "hidden_act": "gelu",
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-12,
        },
        classifier_dropout=dict.fromkeys(("classification", "token_classification"), "hidden_dropout_prob"),
        dropout_before_pooler=True,
        transform_activation="gelu_erf",
        variant=MPNet,
        fixed_of_variant={"position_buckets": 32, "max_distance": 128},
        read_variant=lambda content: MPNet(),
        write_variant=_write,
    ),
)
