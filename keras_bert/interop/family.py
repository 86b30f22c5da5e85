"""How transformers keeps the checkpoints of one family: the record, and what most families have in common.

Names, keys and defaults are those of `modeling_*.py` and `configuration_*.py` of huggingface/transformers, version 5.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keras_bert.config import Activation, EncoderConfig
from keras_bert.interop.names import HUGGING_FACE_SUFFIXES, Format
from keras_bert.variants.base import Variant

# What stands on an encoder, by our task, as the names of classes end.
CLASSES = {
    "embedding": "Model",
    "pretraining": "ForMaskedLM",
    "classification": "ForSequenceClassification",
    "token_classification": "ForTokenClassification",
    "question_answering": "ForQuestionAnswering",
}
BOTH_HEADS = "ForPreTraining"
# Of families that are trained so alone.
_FURTHER = {"replaced_tokens": "ForPreTraining"}


def class_of(task: str) -> str:
    """The key of `CLASSES` for a task: a regression is a classification with one output."""
    return "classification" if task == "regression" else task


# BERT's, under the prefix of the family; `{}` is a block's number.
ENCODER = {
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
TEXT_HEAD = {
    "pooler/dense": "classifier.dense",
    "classifier": "classifier.out_proj",
    "regressor": "classifier.out_proj",
}

# Our field -> the key of `config.json`.
KEYS = {
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

# Their name of an activation -> ours, and back.
ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
WRITTEN_ACTIVATIONS: dict[Activation, str] = {"gelu_erf": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}


class Fused(NamedTuple):
    """Rows of several tensors in one, those of the first head of each, then those of the second, and so on.

    Attributes:
        whole: the ending of the tensor's name.
        parts: the endings of the names that its parts would have; with a single one this is but another name.
    """

    whole: str
    parts: tuple[str, ...]


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
        classes: our tasks that have a class, those of `_FURTHER` where it has them, and `BOTH_HEADS` where there is one
            with a second head.
        keys: our field -> the key of `config.json`, those alone that a family has.
        fixed: our field -> its value in all checkpoints of the family.
        values: our field -> their value -> ours, where these are not the same.
        only: key -> the one value that is supported.
        defaults: key -> the value that transformers takes where a file leaves it out.
        classifier_dropout: task -> the key of the rate before the output layer, for regression that of classification;
            where the key is absent or null, the rate is that of the encoder's `dropout`.
        classifier_pooling: the key that says how a text becomes one vector in front of a classifier; None where that is
            always the first token's.
        text_activation: whether the layer in the place of a pooler under a classifier has the encoder's `activation`,
            where a pooler has `pooler_activation`.
        separator: whether the key `sep_token_id` says what parts two texts, for heads that look for it.
        dropout_before_pooler: whether that rate acts before the layer in the place of a pooler, too.
        variant: what of its graph is not BERT's; None where nothing is.
        read_variant: the content of `config.json` -> the variant; a ValueError says what of it there is not.
        write_variant: an encoder with the variant -> keys of `config.json`.
        fixed_of_variant: the same as `fixed` for fields of the variant.
        fewest_segments: that an encoder has; less than 1 where files may have no table of segments.
        spare_rows: whether the token embedding may have more rows than the tokenizer has pieces.
        other_names: what names of tensors begin with in some files -> what they begin with in all others.
        fused: tensors that hold several of those that `encoder` names.
        unread: what names of tensors begin with that transformers leaves out where a class has no place for them.
    """

    name: str
    title: str
    prefix: str
    encoder: Mapping[str, str] = dataclasses.field(default_factory=lambda: {**ENCODER, **_POOLER})
    heads: Mapping[str, str]
    text_head: Mapping[str, str] = dataclasses.field(default_factory=dict)
    decoder: str
    classes: tuple[str, ...] = tuple(CLASSES)
    keys: Mapping[str, str] = dataclasses.field(default_factory=lambda: KEYS)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {"layer_norm_eps": 1e-12})
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    values: Mapping[str, Mapping[Any, Any]] = dataclasses.field(default_factory=dict)
    only: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    classifier_dropout: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(("classification", "token_classification"), "classifier_dropout")
    )
    classifier_pooling: str | None = None
    text_activation: bool = False
    separator: bool = False
    dropout_before_pooler: bool = False
    variant: type[Variant] | None = None
    fixed_of_variant: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    read_variant: Callable[[Mapping[str, Any]], Variant] | None = None
    write_variant: Callable[[EncoderConfig], Mapping[str, Any]] | None = None
    fewest_segments: int = 1
    spare_rows: bool = False
    other_names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fused: tuple[Fused, ...] = ()
    unread: tuple[str, ...] = ()

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
        return self.title + (BOTH_HEADS if next_sentence else {**CLASSES, **_FURTHER}[kind])

    def architectures(self) -> dict[str, str]:
        """Name of a class -> our task."""
        endings = {**CLASSES, **_FURTHER}
        kinds = {endings.get(kind, kind): "pretraining" if kind == BOTH_HEADS else kind for kind in self.classes}
        return {self.title + ending: task for ending, task in kinds.items()}

    def misfit(self, config: EncoderConfig, *, pooler: bool) -> str | None:
        """Why an encoder, with or without a pooler, is none of this family; None if it is one."""
        if type(config.variant) is not (self.variant or type(None)):
            return f"variant must be {self.variant and self.variant.kind!r}, got {config.variant!r}"
        for name, value in self.fixed_of_variant.items():
            if getattr(config.variant, name) != value:
                return f"variant.{name} must be {value!r}, got {getattr(config.variant, name)!r}"
        known = {*self.keys, "variant"}
        plain = {field.name: field.default for field in dataclasses.fields(config) if field.name not in known}
        for name, value in {**plain, **self.fixed}.items():
            found = getattr(config, name)
            if name == "pooler_activation" and self.text_activation and found == config.activation:
                continue
            if found != value and name not in _OF_THE_TRAINING and (pooler or name != "pooler_activation"):
                return f"{name} must be {value!r}, got {found!r}"
        for name, known_values in self.values.items():
            if getattr(config, name) not in known_values.values():
                return f"{name} must be one of {list(known_values.values())}, got {getattr(config, name)!r}"
        if "num_segments" in self.keys and config.num_segments < self.fewest_segments:
            return f"num_segments must be at least {self.fewest_segments}, got {config.num_segments}"
        return None


# Fields that say nothing of what a trained model computes.
_OF_THE_TRAINING = ("pooler_dropout",)
