"""The families that transformers has and this library reads and writes: a row each.

Names, keys and defaults are those of `modeling_*.py` and `configuration_*.py` of huggingface/transformers, version 5.
"""

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any

from keras_bert.config import EncoderConfig
from keras_bert.interop.names import HUGGING_FACE_SUFFIXES, Format

# What stands on an encoder, by our task, as the names of classes end.
CLASSES = {
    "embedding": "Model",
    "pretraining": "ForMaskedLM",
    "classification": "ForSequenceClassification",
    "token_classification": "ForTokenClassification",
    "question_answering": "ForQuestionAnswering",
}
BOTH_HEADS = "ForPreTraining"


def class_of(task: str) -> str:
    """The key of `CLASSES` for a task: a regression is a classification with one output."""
    return "classification" if task == "regression" else task


# BERT's, under the prefix of the family; `{}` is a block's number.
_ENCODER = {
    "token_embedding": "embeddings.word_embeddings",
    "position_embedding": "embeddings.position_embeddings",
    "segment_embedding": "embeddings.token_type_embeddings",
    "embeddings_norm": "embeddings.LayerNorm",
    "block_{}/attention/query": "encoder.layer.{}.attention.self.query",
    "block_{}/attention/key": "encoder.layer.{}.attention.self.key",
    "block_{}/attention/value": "encoder.layer.{}.attention.self.value",
    "block_{}/attention/output_projection": "encoder.layer.{}.attention.output.dense",
    "block_{}/attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "block_{}/feed_forward/intermediate": "encoder.layer.{}.intermediate.dense",
    "block_{}/feed_forward/output_projection": "encoder.layer.{}.output.dense",
    "block_{}/feed_forward_norm": "encoder.layer.{}.output.LayerNorm",
}
_POOLER = {"pooler/dense": "pooler.dense"}
_HEADS = {"classifier": "classifier", "regressor": "classifier", "span_classifier": "qa_outputs"}
# A head for texts with a layer of its own in the place of a pooler, as in RoBERTa and ELECTRA.
_TEXT_HEAD = {
    "pooler/dense": "classifier.dense",
    "classifier": "classifier.out_proj",
    "regressor": "classifier.out_proj",
}

# Our field -> the key of `config.json`.
_KEYS = {
    "vocabulary_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
    "layer_norm_epsilon": "layer_norm_eps",
    "activation": "hidden_act",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
    """How transformers keeps the checkpoints of one family.

    Attributes:
        name: `model_type` of `config.json`.
        title: what the names of its classes begin with.
        prefix: of the encoder's tensors in a model with a head.
        encoder: our layer -> what its tensors' names begin with, after the prefix.
        heads: the same without the prefix, for what stands on the encoder.
        text_head: the same for classification and regression of texts, where it is not as in `encoder` and `heads`.
        decoder: what the copies of the token embedding and of the bias under the masked-token head are called.
        classes: our tasks that have a class, and `BOTH_HEADS` where there is one with a second head.
        keys: our field -> the key of `config.json`, those alone that a family has.
        fixed: our field -> its value in all checkpoints of the family.
        only: key -> the one value that is supported.
        classifier_dropout: task -> the key of the rate before the output layer, for regression that of classification;
            where the key is absent or null, the rate is that of the encoder's `dropout`.
        dropout_before_pooler: whether that rate acts before the layer in the place of a pooler, too.
        left_out: what the tensors' names of a head begin with that this library has not: a checkpoint of
            `ForPreTraining` with it is read as the encoder alone.
    """

    name: str
    title: str
    prefix: str
    encoder: Mapping[str, str] = dataclasses.field(default_factory=lambda: {**_ENCODER, **_POOLER})
    heads: Mapping[str, str]
    text_head: Mapping[str, str] = dataclasses.field(default_factory=dict)
    decoder: str
    classes: tuple[str, ...] = tuple(CLASSES)
    keys: Mapping[str, str] = dataclasses.field(default_factory=lambda: _KEYS)
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    only: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    classifier_dropout: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(("classification", "token_classification"), "classifier_dropout")
    )
    dropout_before_pooler: bool = False
    left_out: str | None = None

    def form(self, task: str) -> Format:
        """What the tensors of a checkpoint for a task are called."""
        stems = {layer: self.prefix + stem for layer, stem in self.encoder.items()} | _HEADS | dict(self.heads)
        if task in ("classification", "regression"):
            stems |= self.text_head
        return Format(f"Hugging Face's {self.title}", stems, HUGGING_FACE_SUFFIXES)

    def copies(self, task: str) -> dict[str, str]:
        """Copies of other tensors that a checkpoint may hold -> the tensors that they are copies of."""
        if task != "pretraining":
            return {}
        stems = self.form(task).stems
        copies = {f"{self.decoder}.weight": f"{stems['token_embedding']}.weight"}
        if self.decoder != stems["masked_token_bias"]:
            copies[f"{self.decoder}.bias"] = f"{stems['masked_token_bias']}.bias"
        return copies

    def architecture(self, task: str, *, next_sentence: bool = False) -> str:
        """The name of the class with the head of a task.

        Raises:
            ValueError: there is none.
        """
        kind = class_of(task)
        wanted = BOTH_HEADS if next_sentence else kind
        if wanted not in self.classes:
            raise ValueError(f"Hugging Face's {self.title} has no head for {task}" + " with two heads" * next_sentence)
        return self.title + (BOTH_HEADS if next_sentence else CLASSES[kind])

    def architectures(self) -> dict[str, str]:
        """Name of a class -> our task."""
        kinds = {CLASSES.get(kind, kind): "pretraining" if kind == BOTH_HEADS else kind for kind in self.classes}
        if self.left_out is not None:
            kinds[BOTH_HEADS] = "embedding"
        return {self.title + ending: task for ending, task in kinds.items()}

    def misfit(self, config: EncoderConfig, *, pooler: bool) -> str | None:
        """Why an encoder, with or without a pooler, is none of this family; None if it is one."""
        plain = {field.name: field.default for field in dataclasses.fields(config) if field.name not in self.keys}
        for name, value in {**plain, **self.fixed}.items():
            found = getattr(config, name)
            if found != value and name not in _OF_THE_TRAINING and (pooler or name != "pooler_activation"):
                return f"{name} must be {value!r}, got {found!r}"
        if "num_segments" in self.keys and not config.num_segments:
            return "num_segments must be at least 1, got 0"
        return None


# Fields that say nothing of what a trained model computes.
_OF_THE_TRAINING = ("pooler_dropout",)


def _robertas() -> list[Family]:
    """RoBERTa (Liu et al. 2019), and those who trained it on other texts (Conneau et al. 2020, Martin et al. 2020)."""
    heads = {
        "masked_token_transform/dense": "lm_head.dense",
        "masked_token_transform/norm": "lm_head.layer_norm",
        "masked_token_bias": "lm_head",
    }
    named = (("roberta", "Roberta"), ("xlm-roberta", "XLMRoberta"), ("camembert", "Camembert"))
    return [
        Family(
            name=name,
            title=title,
            prefix="roberta.",
            heads=heads,
            text_head=_TEXT_HEAD,
            decoder="lm_head.decoder",
            fixed={"num_segments": 1, "position_offset": 2},
            # Positions begin after that of padding, which has the number of its token.
            only={"type_vocab_size": 1, "pad_token_id": 1},
            dropout_before_pooler=True,
        )
        for name, title in named
    ]


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
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        BERT,
        *_robertas(),
        # Sanh et al. 2019.
        Family(
            name="distilbert",
            title="DistilBert",
            prefix="distilbert.",
            encoder={
                **{layer: stem for layer, stem in _ENCODER.items() if "block" not in layer and "segment" not in layer},
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
                **{field: key for field, key in _KEYS.items() if field not in ("num_segments", "layer_norm_epsilon")},
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
        # Clark et al. 2020: the generator is what ForMaskedLM holds, the discriminator ForPreTraining.
        Family(
            name="electra",
            title="Electra",
            prefix="electra.",
            encoder={**_ENCODER, "embedding_projection/dense": "embeddings_project"},
            heads={
                "masked_token_transform/dense": "generator_predictions.dense",
                "masked_token_transform/norm": "generator_predictions.LayerNorm",
                "masked_token_bias": "generator_lm_head",
            },
            text_head=_TEXT_HEAD,
            decoder="generator_lm_head",
            keys={**_KEYS, "embedding_size": "embedding_size"},
            fixed={"pooler_activation": "gelu_erf"},
            dropout_before_pooler=True,
            # The discriminator's: is a token the text's own? Most released checkpoints hold it.
            left_out="discriminator_predictions.",
        ),
        # Lan et al. 2020.
        Family(
            name="albert",
            title="Albert",
            prefix="albert.",
            encoder={
                **{layer: stem for layer, stem in _ENCODER.items() if "block" not in layer},
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
            keys={**_KEYS, "embedding_size": "embedding_size"},
            fixed={"shared_layers": True},
            only={"num_hidden_groups": 1, "inner_group_num": 1},
            classifier_dropout=dict.fromkeys(("classification", "token_classification"), "classifier_dropout_prob"),
        ),
    )
}


def find_family(name: Any, where: str) -> Family:
    """The family of a `model_type`.

    Args:
        name: of the family.
        where: it was found, for the message.

    Raises:
        ValueError: there is none of this name; tells the nearest.
    """
    if isinstance(name, str) and name in FAMILIES:
        return FAMILIES[name]
    near = difflib.get_close_matches(str(name), FAMILIES, n=1, cutoff=0.0)[0]
    raise ValueError(f"{where}: model_type must be one of {list(FAMILIES)}, got {name!r}; the nearest is {near!r}")


def family_of(config: EncoderConfig, name: str | None, *, pooler: bool) -> Family:
    """The family to write an encoder as: the one that is named, else the first that it fits.

    Args:
        config: of the encoder.
        name: of the family, or None.
        pooler: whether it has a pooler, or a layer in the place of one.

    Raises:
        ValueError: it is of no family, or not of the one that is named.
    """
    if name is not None:
        family = find_family(name, "family")
        misfit = family.misfit(config, pooler=pooler)
        if misfit is not None:
            raise ValueError(f"family {name!r} does not fit: {misfit}")
        return family
    misfits = {family.name: family.misfit(config, pooler=pooler) for family in FAMILIES.values()}
    fitting = next((name for name, misfit in misfits.items() if misfit is None), None)
    if fitting is None:
        raise ValueError(f"the encoder is of no family that Hugging Face has: {misfits}")
    return FAMILIES[fitting]
