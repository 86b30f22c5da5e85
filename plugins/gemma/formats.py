"""The checkpoint format of EmbeddingGemma: `gemma3_text` with `use_bidirectional_attention`."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.hugging_face import KEYS, Family, read_number
from plugins.gemma.settings import Gemma

_FULL, _SLIDING = "full_attention", "sliding_attention"
_NAME, _BOTH = "gemma3_text", "use_bidirectional_attention"
# The rope parameters of a file before transformers 5 -> their keys there, and the values without a key.
_THETAS = {_FULL: ("rope_theta", 1_000_000.0), _SLIDING: ("rope_local_base_freq", 10_000.0)}


def _check_graph(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content, whose tokens must attend in both directions, and whose heads must be as wide as the states."""
    if content.get(_BOTH) is not True:
        raise ValueError(
            f"{_BOTH} must be true, got {content.get(_BOTH)!r}: a decoder, whose tokens do not attend to later ones, "
            "is not supported"
        )
    heads = content.get("num_attention_heads", 4)
    size, scalar = content.get("head_dim", 256), content.get("query_pre_attn_scalar", 256)
    if size * heads != content.get("hidden_size") or scalar != size:
        raise ValueError(
            f"head_dim and query_pre_attn_scalar must be hidden_size / num_attention_heads, got {size} and {scalar}"
        )
    return content


def _read(content: Mapping[str, Any]) -> Gemma:
    thetas, layers = {}, content["num_hidden_layers"]
    for kind, (key, default) in _THETAS.items():
        rope = (content["rope_parameters"] or {}).get(kind) or {}
        if not isinstance(rope, dict) or rope.get("rope_type", "default") != "default":
            raise ValueError(f"rope_parameters.{kind} must be of the rope_type 'default', got {rope!r}")
        thetas[kind] = read_number(f"rope_theta of {kind}", rope.get("rope_theta", content.get(key, default)))
    pattern = content["sliding_window_pattern"]
    kinds = content["layer_types"] or [_SLIDING if (layer + 1) % pattern else _FULL for layer in range(layers)]
    if not isinstance(kinds, list) or not set(kinds) <= {_FULL, _SLIDING} or len(kinds) != layers:
        raise ValueError(f"layer_types must list {_FULL!r} or {_SLIDING!r} for {layers} layers, got {kinds!r}")
    return Gemma(
        key_value_heads=read_number("num_key_value_heads", content["num_key_value_heads"], whole=True),
        global_layers=tuple(layer for layer, kind in enumerate(kinds) if kind == _FULL),
        window=read_number("sliding_window", content["sliding_window"], whole=True),
        global_theta=thetas[_FULL],
        local_theta=thetas[_SLIDING],
    )


def _write(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, Gemma)
    thetas = {_FULL: variant.global_theta, _SLIDING: variant.local_theta}
    layers = range(config.num_layers)
    return {
        _BOTH: True,
        **dict.fromkeys(("head_dim", "query_pre_attn_scalar"), config.head_size),
        "num_key_value_heads": variant.key_value_heads,
        "layer_types": [_FULL if layer in variant.global_layers else _SLIDING for layer in layers],
        "sliding_window": variant.window,
        "rope_parameters": {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()},
        **{key: thetas[kind] for kind, (key, _) in _THETAS.items()},
    }


FAMILIES = (
    Family(
        name=_NAME,
        title="Gemma3Text",
        prefix="model.",
        encoder={
            "token_embedding": "embed_tokens",
            "block_{}/attention_norm": "layers.{}.input_layernorm",
            "block_{}/attention/query": "layers.{}.self_attn.q_proj",
            "block_{}/attention/key": "layers.{}.self_attn.k_proj",
            "block_{}/attention/value": "layers.{}.self_attn.v_proj",
            "block_{}/attention/output_projection": "layers.{}.self_attn.o_proj",
            "block_{}/attention/query_norm": "layers.{}.self_attn.q_norm",
            "block_{}/attention/key_norm": "layers.{}.self_attn.k_norm",
            "block_{}/attention_output_norm": "layers.{}.post_attention_layernorm",
            "block_{}/feed_forward_norm": "layers.{}.pre_feedforward_layernorm",
            "block_{}/feed_forward/gate": "layers.{}.mlp.gate_proj",
            "block_{}/feed_forward/intermediate": "layers.{}.mlp.up_proj",
            "block_{}/feed_forward/output_projection": "layers.{}.mlp.down_proj",
            "block_{}/feed_forward_output_norm": "layers.{}.post_feedforward_layernorm",
            "final_norm": "norm",
        },
        heads={"masked_token_bias": "lm_head"},
        decoder="lm_head",
        classes=("embedding",),
        keys={
            **{field: key for field, key in KEYS.items() if field not in ("num_segments", "dropout")},
            "attention_dropout": "attention_dropout",
            "layer_norm_epsilon": "rms_norm_eps",
            "activation": "hidden_activation",
        },
        fixed={"num_segments": 0, "dropout": 0.0},
        only={"attention_bias": False, "attn_logit_softcapping": None, "rope_scaling": None},
        defaults={
            **dict.fromkeys(("layer_types", "rope_parameters")),
            "attention_dropout": 0.0,
            "hidden_activation": "gelu_pytorch_tanh",
            "initializer_range": 0.02,
            "max_position_embeddings": 131_072,
            "num_key_value_heads": 1,
            "rms_norm_eps": 1e-6,
            "sliding_window": 4096,
            "sliding_window_pattern": 6,
        },
        variant=Gemma,
        read_variant=_read,
        write_variant=_write,
        translate=_check_graph,
        marks={"model_type": _NAME, _BOTH: True},
    ),
)
