"""The checkpoint formats of the families with BERT's graph."""

import dataclasses

from keras_bert.families.hugging_face import BOTH_HEADS, CLASSES, ENCODER, KEYS, TEXT_HEAD, Family

# A key that families with BERT's attention read; DistilBERT and other graphs do not.
_POSITIONS = {"position_embedding_type": "absolute"}

ROBERTA_HEADS = {
    "masked_token_transform/dense": "lm_head.dense",
    "masked_token_transform/norm": "lm_head.layer_norm",
    "masked_token_bias": "lm_head",
}


# Liu et al. 2019.
ROBERTA = Family(
    name="roberta",
    title="Roberta",
    prefix="roberta.",
    heads=ROBERTA_HEADS,
    text_head=TEXT_HEAD,
    decoder="lm_head.decoder",
    fixed={"num_segments": 1, "position_offset": 2},
    # The position of the first token is pad_token_id + 1.
    only={**_POSITIONS, "pad_token_id": 1},
    dropout_before_pooler=True,
    transform_activation="gelu_erf",
)

# Devlin et al. 2019.
BERT = Family(
    name="bert",
    title="Bert",
    prefix="bert.",
    heads={
        "masked_token_transform/dense": "cls.predictions.transform.dense",
        "masked_token_transform/norm": "cls.predictions.transform.LayerNorm",
        "masked_token_bias": "cls.predictions",
        "next_sentence": "cls.seq_relationship",
    },
    decoder="cls.predictions.decoder",
    classes=(*CLASSES, BOTH_HEADS),
    only=_POSITIONS,
)

FAMILIES = (
    BERT,
    ROBERTA,
    # Conneau et al. 2020, Martin et al. 2020, Baevski et al. 2022.
    dataclasses.replace(ROBERTA, name="xlm-roberta", title="XLMRoberta"),
    dataclasses.replace(ROBERTA, name="camembert", title="Camembert"),
    dataclasses.replace(ROBERTA, name="data2vec-text", title="Data2VecText", prefix="data2vec_text."),
    # Sun et al. 2019, 2020, 2021; where there is an embedding of tasks, all tokens are of task 0, as in transformers.
    dataclasses.replace(
        BERT,
        name="ernie",
        title="Ernie",
        prefix="ernie.",
        folded=(
            "use_task_id",
            "ernie.embeddings.task_type_embeddings.weight",
            "ernie.embeddings.token_type_embeddings.weight",
        ),
    ),
    # Sanh et al. 2019.
    Family(
        name="distilbert",
        title="DistilBert",
        prefix="distilbert.",
        encoder={
            **{layer: stem for layer, stem in ENCODER.items() if "block" not in layer and "segment" not in layer},
            "block_{}/attention/query": "transformer.layer.{}.attention.q_lin",
            "block_{}/attention/key": "transformer.layer.{}.attention.k_lin",
            "block_{}/attention/value": "transformer.layer.{}.attention.v_lin",
            "block_{}/attention/output_projection": "transformer.layer.{}.attention.out_lin",
            "block_{}/attention_norm": "transformer.layer.{}.sa_layer_norm",
            "block_{}/feed_forward/intermediate": "transformer.layer.{}.ffn.lin1",
            "block_{}/feed_forward/output_projection": "transformer.layer.{}.ffn.lin2",
            "block_{}/feed_forward_norm": "transformer.layer.{}.output_layer_norm",
        },
        heads={
            "masked_token_transform/dense": "vocab_transform",
            "masked_token_transform/norm": "vocab_layer_norm",
            "masked_token_bias": "vocab_projector",
        },
        text_head={"pooler/dense": "pre_classifier"},
        decoder="vocab_projector",
        keys={
            **{field: key for field, key in KEYS.items() if field not in ("num_segments", "layer_norm_epsilon")},
            "hidden_size": "dim",
            "num_layers": "n_layers",
            "num_heads": "n_heads",
            "intermediate_size": "hidden_dim",
            "dropout": "dropout",
            "attention_dropout": "attention_dropout",
            "activation": "activation",
        },
        fixed={"num_segments": 0, "layer_norm_epsilon": 1e-12, "pooler_activation": "relu"},
        classifier_dropout={"classification": "seq_classif_dropout", "token_classification": "dropout"},
    ),
    # Clark et al. 2020: ForMaskedLM is the generator, ForPreTraining the discriminator.
    Family(
        name="electra",
        title="Electra",
        prefix="electra.",
        encoder={**ENCODER, "embedding_projection/dense": "embeddings_project"},
        heads={
            "masked_token_transform/dense": "generator_predictions.dense",
            "masked_token_transform/norm": "generator_predictions.LayerNorm",
            "masked_token_bias": "generator_lm_head",
            "replaced_token_transform/dense": "discriminator_predictions.dense",
            "replaced_token_classifier": "discriminator_predictions.dense_prediction",
        },
        text_head=TEXT_HEAD,
        decoder="generator_lm_head",
        classes=(*CLASSES, "replaced_tokens"),
        keys={**KEYS, "embedding_size": "embedding_size"},
        fixed={"pooler_activation": "gelu_erf"},
        only=_POSITIONS,
        dropout_before_pooler=True,
        transform_activation="gelu_erf",
    ),
    # Lan et al. 2020.
    Family(
        name="albert",
        title="Albert",
        prefix="albert.",
        encoder={
            **{layer: stem for layer, stem in ENCODER.items() if "block" not in layer},
            "embedding_projection/dense": "encoder.embedding_hidden_mapping_in",
            **{
                f"block_{{}}/{layer}": f"encoder.albert_layer_groups.0.albert_layers.0.{stem}"
                for layer, stem in (
                    ("attention/query", "attention.query"),
                    ("attention/key", "attention.key"),
                    ("attention/value", "attention.value"),
                    ("attention/output_projection", "attention.dense"),
                    ("attention_norm", "attention.LayerNorm"),
                    ("feed_forward/intermediate", "ffn"),
                    ("feed_forward/output_projection", "ffn_output"),
                    ("feed_forward_norm", "full_layer_layer_norm"),
                )
            },
            "pooler/dense": "pooler",
        },
        heads={
            "masked_token_transform/dense": "predictions.dense",
            "masked_token_transform/norm": "predictions.LayerNorm",
            "masked_token_bias": "predictions",
            "next_sentence": "sop_classifier.classifier",
        },
        decoder="predictions.decoder",
        classes=(*CLASSES, BOTH_HEADS),
        keys={**KEYS, "embedding_size": "embedding_size"},
        fixed={"shared_layers": True},
        only={**_POSITIONS, "num_hidden_groups": 1, "inner_group_num": 1},
        classifier_dropout=dict.fromkeys(("classification", "token_classification"), "classifier_dropout_prob"),
    ),
)
