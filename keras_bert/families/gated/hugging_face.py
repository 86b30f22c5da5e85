"""The checkpoint formats of NomicBERT (Nussbaum et al. 2024), GTE (Zhang et al. 2024) and JinaBERT v2.

JinaBERT's files (Guenther et al. 2023) name code of their own, which is never run. So did the first files of the
others, which are read as well: GTE's have the `model_type` `new`, NomicBERT's the keys of GPT-2.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.families.gated.settings import Gated
from keras_bert.families.hugging_face import BOTH_HEADS, ENCODER, KEYS, Family, Fused, read_number

_PARTS = ("query", "key", "value")
_CLASSES = ("embedding", "pretraining", "classification", "token_classification")
# Keys of the first files -> the only value that is supported.
_ONLY_NOMIC: dict[str, Any] = {
    "activation_function": "swiglu",
    "rotary_emb_fraction": 1.0,
    "rotary_emb_scale_base": None,
    "num_experts": 0,
    **dict.fromkeys(("causal", "prenorm", "parallel_block", "use_rms_norm", "rotary_emb_interleaved"), False),
    **dict.fromkeys(("qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"), False),
}
_ONLY_GTE = {"layer_norm_type": "layer_norm", "position_embedding_type": "rope", "logn_attention_scale": False}
_OLD_NOMIC = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
    "resid_pdrop": "hidden_dropout_prob",
    "attn_pdrop": "attention_probs_dropout_prob",
}


def _translate_nomic(content: Mapping[str, Any]) -> dict[str, Any]:
    """Translates the keys of NomicBERT's own code to transformers'; its scaling starts behind the trained positions."""
    translated = {_OLD_NOMIC.get(key, key): value for key, value in content.items() if key != "auto_map"}
    if "n_positions" in content and content.get("max_trained_positions"):
        translated["max_position_embeddings"] = min(content["n_positions"], content["max_trained_positions"])
    if "rotary_emb_base" in content:
        translated["rope_parameters"] = {"rope_theta": content["rotary_emb_base"]}
    return translated


def _translate_gte(content: Mapping[str, Any]) -> dict[str, Any]:
    """Translates the keys of GTE's own code to transformers' keys."""
    names = content.get("architectures") or []
    translated = {
        **{key: value for key, value in content.items() if key not in ("auto_map", "rope_scaling")},
        "architectures": [name.replace("New", "Gte", 1) if isinstance(name, str) else name for name in names],
    }
    scaling, theta = content.get("rope_scaling"), content.get("rope_theta")
    if scaling is not None or theta is not None:
        translated["rope_parameters"] = {"rope_theta": theta, **_scale_positions(content, scaling, theta)}
    return translated


def _scale_positions(content: Mapping[str, Any], scaling: Any, theta: Any) -> dict[str, Any]:
    """NTK's scaling of rotary positions by a factor f: the base is f theta, and angles are divided by f^(2 / size)."""
    if scaling is None:
        return {}
    if not isinstance(scaling, dict) or scaling.get("type", scaling.get("rope_type")) != "ntk" or "mixed_b" in scaling:
        raise ValueError(f"rope_scaling must be null or of the type 'ntk', got {scaling!r}")
    factor, base = read_number("rope_scaling.factor", scaling.get("factor")), read_number("rope_theta", theta)
    size = content["hidden_size"] // content["num_attention_heads"]
    return {"rope_type": "linear", "rope_theta": factor * base, "factor": factor ** (2 / size)}


def _translate_jina(content: Mapping[str, Any]) -> dict[str, Any]:
    code = content.get("auto_map")
    if "qk" in str(code):
        raise ValueError(f"auto_map must name JinaBERT's code without norms of queries and keys, got {code!r}")
    return {key: value for key, value in content.items() if key != "auto_map"}


def _read(content: Mapping[str, Any], *, has_biases: bool = False) -> Gated:
    rope = content["rope_parameters"]
    if not isinstance(rope, dict) or rope.get("rope_type", "default") not in ("default", "linear"):
        raise ValueError(f"rope_parameters must be of the rope_type 'default' or 'linear', got {rope!r}")
    scale = rope.get("factor", 1.0) if rope.get("rope_type") == "linear" else 1.0
    return Gated(
        theta=read_number("rope_theta", rope.get("rope_theta")),
        position_scale=read_number("factor", scale),
        attention_bias=has_biases,
        output_bias=has_biases,
    )


def _write(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, Gated)
    scaled = {"rope_type": "linear", "factor": variant.position_scale}
    kind = {"rope_type": "default"} if variant.position_scale == 1 else scaled
    return {"rope_parameters": {**kind, "rope_theta": variant.theta}}


FAMILIES = (
    Family(
        name="nomic_bert",
        title="NomicBert",
        prefix="nomic_bert.",
        encoder={
            "token_embedding": "embeddings.word_embeddings",
            "segment_embedding": "embeddings.token_type_embeddings",
            "embeddings_norm": "emb_ln",
            **{f"block_{{}}/attention/{part}": f"encoder.layers.{{}}.attn.{part}" for part in _PARTS},
            "block_{}/attention/output_projection": "encoder.layers.{}.attn.out_proj",
            "block_{}/attention_norm": "encoder.layers.{}.norm1",
            "block_{}/feed_forward/gate": "encoder.layers.{}.mlp.fc12",
            "block_{}/feed_forward/intermediate": "encoder.layers.{}.mlp.fc11",
            "block_{}/feed_forward/output_projection": "encoder.layers.{}.mlp.fc2",
            "block_{}/feed_forward_norm": "encoder.layers.{}.norm2",
        },
        heads={
            **{layer: stem for layer, stem in BERT.heads.items() if layer != "next_sentence"},
            "masked_token_transform/norm": "cls.predictions.transform.layer_norm",
        },
        text_head={"pooler/dense": "nomic_bert.pooler.dense"},
        decoder=BERT.decoder,
        classes=_CLASSES,
        only=_ONLY_NOMIC,
        defaults={
            **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0),
            "hidden_act": "silu",
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-12,
            "rope_parameters": {"rope_theta": 1000.0},
            "type_vocab_size": 2,
        },
        variant=Gated,
        fixed_of_variant={"positions": "rotary", "attention_bias": False, "output_bias": False},
        read_variant=_read,
        write_variant=_write,
        translate=_translate_nomic,
        other_names={"bert.": "nomic_bert."},
        fused=(Fused("attn.Wqkv.weight", tuple(f"attn.{part}.weight" for part in _PARTS), False),),
        unread=("nomic_bert.pooler.",),
    ),
    Family(
        name="gte",
        title="Gte",
        prefix="gte.",
        encoder={
            "token_embedding": "embeddings.word_embeddings",
            "segment_embedding": "embeddings.token_type_embeddings",
            "embeddings_norm": "embeddings.LayerNorm",
            **{f"block_{{}}/attention/{part}": f"encoder.layer.{{}}.attention.{part}" for part in _PARTS},
            "block_{}/attention/output_projection": "encoder.layer.{}.attention.o_proj",
            "block_{}/attention_norm": "encoder.layer.{}.attn_ln",
            "block_{}/feed_forward/gate": "encoder.layer.{}.mlp.gate_proj",
            "block_{}/feed_forward/intermediate": "encoder.layer.{}.mlp.up_proj",
            "block_{}/feed_forward/output_projection": "encoder.layer.{}.mlp.down_proj",
            "block_{}/feed_forward_norm": "encoder.layer.{}.mlp_ln",
        },
        heads={
            "masked_token_transform/dense": "lm_head.dense",
            "masked_token_transform/norm": "lm_head.norm",
            "masked_token_bias": "lm_head.decoder",
        },
        text_head={"pooler/dense": "gte.pooler.dense"},
        decoder="lm_head.decoder",
        classes=_CLASSES,
        keys=KEYS,
        only=_ONLY_GTE,
        defaults={
            "attention_probs_dropout_prob": 0.0,
            "hidden_dropout_prob": 0.1,
            "hidden_act": "gelu",
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-12,
            "rope_parameters": {"rope_theta": 160_000.0},
            "type_vocab_size": 1,
        },
        transform_activation="gelu_erf",
        variant=Gated,
        fixed_of_variant={"positions": "rotary", "attention_bias": True, "output_bias": True},
        read_variant=lambda content: _read(content, has_biases=True),
        write_variant=_write,
        translate=_translate_gte,
        other_types=("new",),
        fewest_segments=0,
        other_names={"new.": "gte."},
        fused=(
            *(
                Fused(f"attention.qkv_proj.{kind}", tuple(f"attention.{part}.{kind}" for part in _PARTS), False)
                for kind in ("weight", "bias")
            ),
            Fused("mlp.up_gate_proj.weight", ("mlp.up_proj.weight", "mlp.gate_proj.weight"), False),
        ),
        # gte-multilingual-base holds a layer of weights of tokens beside its vectors.
        unread=("gte.pooler.", "classifier."),
    ),
    dataclasses.replace(
        BERT,
        name="jina_bert",
        title="JinaBert",
        encoder={
            **{layer: stem for layer, stem in ENCODER.items() if layer != "position_embedding"},
            "block_{}/feed_forward/gate": "encoder.layer.{}.mlp.gate",
            "block_{}/feed_forward/intermediate": "encoder.layer.{}.mlp.intermediate",
            "block_{}/feed_forward/output_projection": "encoder.layer.{}.mlp.wo",
            "block_{}/feed_forward_norm": "encoder.layer.{}.mlp.layernorm",
            "pooler/dense": "pooler.dense",
        },
        classes=tuple(kind for kind in BERT.classes if kind != BOTH_HEADS),
        only={"feed_forward_type": "geglu", "hidden_act": "gelu"},
        marks={"model_type": "bert", "position_embedding_type": "alibi"},
        variant=Gated,
        fixed_of_variant={"positions": "linear", "attention_bias": True, "output_bias": True},
        read_variant=lambda content: Gated(positions="linear", attention_bias=True, output_bias=True),
        translate=_translate_jina,
        fused=(Fused("mlp.gated_layers.weight", ("mlp.gate.weight", "mlp.intermediate.weight"), False),),
    ),
)
