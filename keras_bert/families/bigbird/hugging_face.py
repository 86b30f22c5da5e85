"""The checkpoint format of BigBird (Zaheer et al. 2020)."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.families.bigbird.settings import AttentionKind, BigBird
from keras_bert.families.hugging_face import BOTH_HEADS, CLASSES, ENCODER, KEYS, TEXT_HEAD, Family, read_number

# transformers' `attention_type` -> `BigBird.attention`.
_ATTENTION: dict[str, AttentionKind] = {"block_sparse": "block_sparse", "original_full": "full"}


def _read(content: Mapping[str, Any]) -> BigBird:
    attention_type = content["attention_type"]
    if attention_type not in _ATTENTION:
        raise ValueError(f"attention_type must be one of {list(_ATTENTION)}, got {attention_type!r}")
    return BigBird(
        block_size=read_number("block_size", content["block_size"], whole=True),
        random_blocks=read_number("num_random_blocks", content["num_random_blocks"], whole=True),
        attention=_ATTENTION[attention_type],
    )


def _write(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, BigBird)
    names = {ours: theirs for theirs, ours in _ATTENTION.items()}
    return {
        "attention_type": names[variant.attention],
        "block_size": variant.block_size,
        "num_random_blocks": variant.random_blocks,
    }


FAMILIES = (
    Family(
        name="big_bird",
        title="BigBird",
        prefix="bert.",
        encoder={**ENCODER, "pooler/dense": "pooler"},
        heads={
            **BERT.heads,
            "span_transform/feed_forward/intermediate": "qa_classifier.intermediate.dense",
            "span_transform/feed_forward/output_projection": "qa_classifier.output.dense",
            "span_transform/norm": "qa_classifier.output.LayerNorm",
            "span_classifier": "qa_classifier.qa_outputs",
        },
        text_head=TEXT_HEAD,
        decoder=BERT.decoder,
        classes=(*CLASSES, BOTH_HEADS),
        keys=KEYS,
        defaults={
            "attention_probs_dropout_prob": 0.1,
            "attention_type": "block_sparse",
            "block_size": 64,
            "hidden_act": "gelu_new",
            "hidden_dropout_prob": 0.1,
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": 4096,
            "num_random_blocks": 3,
            "sep_token_id": 66,
            "type_vocab_size": 2,
        },
        only={"use_bias": True, "rescale_embeddings": False},
        dropout_before_pooler=True,
        text_activation=True,
        separator=True,
        variant=BigBird,
        read_variant=_read,
        write_variant=_write,
        # transformers saves the pooler also in models whose head does not use it.
        unread=("bert.pooler.",),
    ),
)
