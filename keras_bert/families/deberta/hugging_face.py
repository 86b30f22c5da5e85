"""The checkpoint formats of DeBERTa (He et al. 2021) and of its versions 2 and 3 (He et al. 2023).

Versions 2 and 3 share a `model_type`.
"""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.families.deberta.settings import ConvolutionActivation, DeBERTa
from keras_bert.families.hugging_face import ENCODER, KEYS, Family, Fused, read_number

_CONVOLUTION_ACTIVATIONS: dict[str, ConvolutionActivation] = {
    "tanh": "tanh",
    "gelu": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
}
# A term of the attention in `pos_att_type` -> our field; released files have "c2p|p2c", newer files a list.
_TERMS = {"c2p": "content_to_position", "p2c": "position_to_content"}
# Settings of version 1.
_FIRST: dict[str, Any] = {
    "position_buckets": 0,
    "shared_projections": False,
    "normalized_positions": False,
    "key_bias": False,
    "convolution": 0,
}
_DEFAULTS = {
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 0,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-7,
    "relative_attention": False,
    "max_relative_positions": -1,
    "position_biased_input": True,
    "pooler_dropout": 0.0,
}


def _read_common(content: Mapping[str, Any]) -> dict[str, Any]:
    """The attention's settings that both formats have; raises if a width differs from that of the encoder."""
    hidden, heads = content.get("hidden_size"), content.get("num_attention_heads")
    if isinstance(hidden, int) and isinstance(heads, int) and heads > 0:
        widths = {"pooler_hidden_size": hidden, "embedding_size": hidden, "attention_head_size": hidden // heads}
        for key, width in widths.items():
            if content.get(key) not in (None, width):
                raise ValueError(f"{key} must be {width}, got {content[key]!r}, which is not supported")
    terms = content.get("pos_att_type") or []
    if isinstance(terms, str):
        terms = [term.strip() for term in terms.lower().split("|")]
    if not isinstance(terms, list) or not terms or not all(term in _TERMS for term in terms):
        raise ValueError(f"pos_att_type must name one or both of {list(_TERMS)}, got {content.get('pos_att_type')!r}")
    most = read_number("max_relative_positions", content["max_relative_positions"], whole=True)
    return {
        "max_distance": most
        if most >= 1
        else read_number("max_position_embeddings", content["max_position_embeddings"], whole=True),
        "absolute_positions": _read_truth(content, "position_biased_input"),
        **{ours: theirs in terms for theirs, ours in _TERMS.items()},
    }


def _read_truth(content: Mapping[str, Any], key: str) -> bool:
    if not isinstance(content[key], bool):
        raise ValueError(f"{key} must be true or false, got {content[key]!r}")
    return bool(content[key])


def _read_second(content: Mapping[str, Any]) -> DeBERTa:
    fields, window = _read_common(content), read_number("conv_kernel_size", content["conv_kernel_size"], whole=True)
    if window > 0:
        activation = content["conv_act"]
        if activation not in _CONVOLUTION_ACTIVATIONS:
            raise ValueError(f"conv_act must be one of {list(_CONVOLUTION_ACTIVATIONS)}, got {activation!r}")
        fields |= {"convolution": window, "convolution_activation": _CONVOLUTION_ACTIVATIONS[activation]}
    normalized = content["norm_rel_ebd"]
    if normalized not in ("none", "layer_norm"):
        raise ValueError(f"norm_rel_ebd must be 'none' or 'layer_norm', got {normalized!r}")
    return DeBERTa(
        **fields,
        position_buckets=max(read_number("position_buckets", content["position_buckets"], whole=True), 0),
        shared_projections=_read_truth(content, "share_att_key"),
        normalized_positions=normalized == "layer_norm",
    )


def _write_common(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, DeBERTa)
    return {
        "max_relative_positions": variant.max_distance,
        "position_biased_input": variant.absolute_positions,
        "pos_att_type": [theirs for theirs, ours in _TERMS.items() if getattr(variant, ours)],
        "legacy": True,
    }


def _write_second(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, DeBERTa)
    names = {ours: theirs for theirs, ours in _CONVOLUTION_ACTIVATIONS.items()}
    convolution = {"conv_kernel_size": variant.convolution, "conv_act": names[variant.convolution_activation]}
    return {
        **_write_common(config),
        "position_buckets": variant.position_buckets or -1,
        "share_att_key": variant.shared_projections,
        "norm_rel_ebd": "layer_norm" if variant.normalized_positions else "none",
        **(convolution if variant.convolution else {}),
    }


_COMMON: dict[str, Any] = {
    "prefix": "deberta.",
    "heads": {layer: stem for layer, stem in BERT.heads.items() if layer != "next_sentence"},
    "text_head": {"pooler/dense": "pooler.dense"},
    "decoder": BERT.decoder,
    "keys": {**KEYS, "pooler_dropout": "pooler_dropout"},
    "fixed": {"pooler_activation": "gelu_erf"},
    "classifier_dropout": {"classification": "cls_dropout", "token_classification": "hidden_dropout_prob"},
    "variant": DeBERTa,
    "fewest_segments": 0,
    # The equivalent head of the released code, which transformers builds if `legacy` is false.
    "other_names": {
        "lm_predictions.lm_head.bias": "cls.predictions.bias",
        "lm_predictions.lm_head.": "cls.predictions.transform.",
    },
    # The absolute positions of the mask decoder, and the discriminator's head of version 3.
    "unread": ("deberta.embeddings.position_embeddings.", "mask_predictions.", "cls.predictions."),
}
_SELF = "encoder.layer.{}.attention.self."
_DISENTANGLED = {**ENCODER, "relative_embedding": "encoder.rel_embeddings"}

FAMILIES = (
    Family(
        name="deberta-v2",
        title="DebertaV2",
        encoder={
            **_DISENTANGLED,
            "relative_embedding/norm": "encoder.LayerNorm",
            "convolution/dense": "encoder.conv.conv",
            "convolution/norm": "encoder.conv.LayerNorm",
            "block_{}/attention/query": f"{_SELF}query_proj",
            "block_{}/attention/key": f"{_SELF}key_proj",
            "block_{}/attention/value": f"{_SELF}value_proj",
            "block_{}/attention/position_query": f"{_SELF}pos_query_proj",
            "block_{}/attention/position_key": f"{_SELF}pos_key_proj",
        },
        defaults={
            **_DEFAULTS,
            "position_buckets": -1,
            "share_att_key": False,
            "norm_rel_ebd": "none",
            "conv_kernel_size": 0,
            "conv_act": "tanh",
        },
        only={"relative_attention": True, "pooler_hidden_act": "gelu", "conv_groups": 1},
        fixed_of_variant={"key_bias": True},
        read_variant=_read_second,
        write_variant=_write_second,
        **_COMMON,
    ),
    Family(
        name="deberta",
        title="Deberta",
        encoder={
            **_DISENTANGLED,
            "block_{}/attention/position_query": f"{_SELF}pos_q_proj",
            "block_{}/attention/position_key": f"{_SELF}pos_proj",
        },
        fused=(
            Fused("self.in_proj.weight", tuple(f"self.{part}.weight" for part in ("query", "key", "value"))),
            Fused("self.q_bias", ("self.query.bias",)),
            Fused("self.v_bias", ("self.value.bias",)),
        ),
        defaults=_DEFAULTS,
        only={"relative_attention": True, "pooler_hidden_act": "gelu", "talking_head": False},
        fixed_of_variant=_FIRST,
        read_variant=lambda content: DeBERTa(**_read_common(content), **_FIRST),
        write_variant=_write_common,
        **_COMMON,
    ),
)
