"""The checkpoint formats of RoBERTa-PreLayerNorm (Wettig et al. 2023) and Megatron-BERT (Shoeybi et al. 2019)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from keras_bert.families.bert.hugging_face import BERT, ROBERTA
from keras_bert.families.hugging_face import Family
from keras_bert.families.pre_norm.settings import PreNorm


def _with_norms(family: Family, *, embeddings_norm: bool, norms: Mapping[str, str], **changes: Any) -> Family:
    """The format of a family that has pre-norm blocks in place of BERT's."""
    variant = PreNorm(embeddings_norm=embeddings_norm)
    encoder = {layer: stem for layer, stem in family.encoder.items() if embeddings_norm or layer != "embeddings_norm"}
    return dataclasses.replace(
        family,
        encoder={**encoder, **norms},
        variant=PreNorm,
        fixed_of_variant={"embeddings_norm": embeddings_norm},
        read_variant=lambda content: variant,
        **changes,
    )


FAMILIES = (
    _with_norms(
        ROBERTA,
        embeddings_norm=True,
        norms={
            "block_{}/attention_norm": "encoder.layer.{}.attention.LayerNorm",
            "block_{}/feed_forward_norm": "encoder.layer.{}.intermediate.LayerNorm",
            "final_norm": "LayerNorm",
        },
        name="roberta-prelayernorm",
        title="RobertaPreLayerNorm",
        prefix="roberta_prelayernorm.",
    ),
    _with_norms(
        BERT,
        embeddings_norm=False,
        norms={
            "block_{}/attention_norm": "encoder.layer.{}.attention.ln",
            "block_{}/feed_forward_norm": "encoder.layer.{}.ln",
            "final_norm": "encoder.ln",
        },
        name="megatron-bert",
        title="MegatronBert",
        classifier_dropout=dict.fromkeys(("classification", "token_classification"), "hidden_dropout_prob"),
    ),
)
