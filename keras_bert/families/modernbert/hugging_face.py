"""The checkpoint format of ModernBERT (Warner et al. 2024)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.hugging_face import KEYS, WRITTEN_ACTIVATIONS, Family, read_number
from keras_bert.families.modernbert.settings import ModernBERT

_FULL, _SLIDING = "full_attention", "sliding_attention"


def _read(content: Mapping[str, Any]) -> ModernBERT:
    """The settings in `config.json`; keys of transformers 5 override those of transformers 4."""
    thetas = {_FULL: content["global_rope_theta"], _SLIDING: content["local_rope_theta"]}
    for kind, rope in (content["rope_parameters"] or {}).items():
        if kind not in thetas or not isinstance(rope, dict) or rope.get("rope_type", "default") != "default":
            raise ValueError(f"rope_parameters.{kind} must be of the rope_type 'default', got {rope!r}")
        thetas[kind] = rope.get("rope_theta", thetas[kind])
    variant = ModernBERT(
        global_every=read_number("global_attn_every_n_layers", content["global_attn_every_n_layers"], whole=True),
        window=read_number("local_attention", content["local_attention"], whole=True),
        global_theta=read_number(f"rope_theta of {_FULL}", thetas[_FULL]),
        local_theta=read_number(f"rope_theta of {_SLIDING}", thetas[_SLIDING]),
        embedding_dropout=read_number("embedding_dropout", content["embedding_dropout"]),
    )
    activation, expected = content["classifier_activation"], content["hidden_activation"]
    # It does not matter in models without a head.
    if activation != expected and content["architectures"] != ["ModernBertModel"]:
        raise ValueError(f"classifier_activation must be hidden_activation, {expected!r}, got {activation!r}")
    kinds, layers = content["layer_types"], content.get("num_hidden_layers")
    if kinds is None:
        return variant
    if not isinstance(kinds, list) or not set(kinds) <= {_FULL, _SLIDING} or len(kinds) != layers:
        raise ValueError(f"layer_types must list {_FULL!r} or {_SLIDING!r} for {layers} layers, got {kinds!r}")
    global_layers = tuple(layer for layer, kind in enumerate(kinds) if kind == _FULL)
    return dataclasses.replace(variant, global_layers=global_layers).of_layers(range(len(kinds)))


def _write(config: EncoderConfig) -> dict[str, Any]:
    """The keys of transformers 5, and those of transformers 4."""
    variant = config.variant
    assert isinstance(variant, ModernBERT)
    thetas = {_FULL: variant.global_theta, _SLIDING: variant.local_theta}
    return {
        "layer_types": [_FULL if variant.is_global(layer) else _SLIDING for layer in range(config.num_layers)],
        "global_attn_every_n_layers": variant.global_every,
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()},
        "global_rope_theta": variant.global_theta,
        "local_rope_theta": variant.local_theta,
        "local_attention": variant.window,
        "embedding_dropout": variant.embedding_dropout,
        # The defaults are ids of the released vocabulary.
        **dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id")),
        "classifier_activation": WRITTEN_ACTIVATIONS[config.activation],
    }


FAMILIES = (
    Family(
        name="modernbert",
        title="ModernBert",
        prefix="model.",
        encoder={
            "token_embedding": "embeddings.tok_embeddings",
            "embeddings_norm": "embeddings.norm",
            "block_{}/attention_norm": "layers.{}.attn_norm",
            "block_{}/attention/query_key_value": "layers.{}.attn.Wqkv",
            "block_{}/attention/output_projection": "layers.{}.attn.Wo",
            "block_{}/feed_forward_norm": "layers.{}.mlp_norm",
            "block_{}/feed_forward/intermediate": "layers.{}.mlp.Wi",
            "block_{}/feed_forward/output_projection": "layers.{}.mlp.Wo",
            "final_norm": "final_norm",
        },
        heads={
            "masked_token_transform/dense": "head.dense",
            "masked_token_transform/norm": "head.norm",
            "masked_token_bias": "decoder",
            "prediction_head/dense": "head.dense",
            "prediction_head/norm": "head.norm",
            "span_classifier": "classifier",
        },
        text_head={"pooler/dense": "head.dense", "pooler/norm": "head.norm"},
        decoder="decoder",
        keys={
            **{field: key for field, key in KEYS.items() if field != "num_segments"},
            "dropout": "mlp_dropout",
            "attention_dropout": "attention_dropout",
            "layer_norm_epsilon": "norm_eps",
            "activation": "hidden_activation",
        },
        fixed={"num_segments": 0},
        only={
            **dict.fromkeys(("attention_bias", "classifier_bias", "mlp_bias", "norm_bias"), False),
            "decoder_bias": True,
            "rope_scaling": None,
        },
        defaults={
            **dict.fromkeys(("attention_dropout", "classifier_dropout", "embedding_dropout", "mlp_dropout"), 0.0),
            **dict.fromkeys(("hidden_activation", "classifier_activation"), "gelu"),
            **dict.fromkeys(("layer_types", "rope_parameters")),
            "classifier_pooling": "cls",
            "global_attn_every_n_layers": 3,
            "global_rope_theta": 160_000.0,
            "initializer_range": 0.02,
            "local_attention": 128,
            "local_rope_theta": 10_000.0,
            "max_position_embeddings": 8192,
            "norm_eps": 1e-5,
        },
        classifier_dropout=dict.fromkeys(
            ("classification", "token_classification", "question_answering"), "classifier_dropout"
        ),
        classifier_pooling="classifier_pooling",
        variant=ModernBERT,
        read_variant=_read,
        write_variant=_write,
    ),
)
