"""Describes the checkpoint format of a family in transformers; most families share the tables of names in this module.

Names, keys and defaults are those of `modeling_*.py` and `configuration_*.py` of huggingface/transformers, version 5.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keras_bert.core.config import Activation, EncoderConfig, Variant
from keras_bert.core.tensors import Tensor


class TaskNames(NamedTuple):
    """The names of a task in transformers and peft, and of its output layer in this library.

    Attributes:
        model_class: the end of the names of transformers' classes.
        peft_type: peft's `task_type`; None if it has none.
        output_layer: the output layer, if a dropout layer `{output_layer}_dropout` precedes it; None if there is no
            dropout.
    """

    model_class: str
    peft_type: str | None = None
    output_layer: str | None = None


TASK_NAMES = {
    "embedding": TaskNames("Model", "FEATURE_EXTRACTION"),
    "pretraining": TaskNames("ForMaskedLM"),
    "classification": TaskNames("ForSequenceClassification", "SEQ_CLS", "classifier"),
    "multi_label": TaskNames("ForSequenceClassification", "SEQ_CLS", "classifier"),
    "regression": TaskNames("ForSequenceClassification", "SEQ_CLS", "regressor"),
    "token_classification": TaskNames("ForTokenClassification", "TOKEN_CLS", "classifier"),
    "question_answering": TaskNames("ForQuestionAnswering", "QUESTION_ANS", "span"),
    "replaced_tokens": TaskNames("ForPreTraining"),
}
BOTH_HEADS = "ForPreTraining"
# The tasks with a class in most families.
CLASSES = ("embedding", "pretraining", "classification", "token_classification", "question_answering")


def class_of(task: str) -> str:
    """The task that shares a task's class in transformers: regression is a classification with one output.

    A model with several labels is a classification with another `problem_type`.
    """
    return "classification" if task in ("regression", "multi_label") else task


def classifies_texts(task: str) -> bool:
    """True if transformers implements a task as a classification of texts, with one vector per text."""
    return class_of(task) == "classification"


# Our layer of BERT's encoder -> the beginning of its tensors' names, after the prefix; `{}` is the index of a block.
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
# A classification head with a hidden layer in place of the pooler, as in RoBERTa and ELECTRA.
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

# transformers' name of an activation -> ours, and back.
ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu_erf",
    "gelu_python": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
WRITTEN_ACTIVATIONS: dict[Activation, str] = {
    "gelu_erf": "gelu",
    "gelu_tanh": "gelu_new",
    "relu": "relu",
    "silu": "silu",
}


def read_number(key: str, value: Tensor, *, whole: bool = False) -> Tensor:
    """Checks that the value of a key of `config.json` is a number, or a whole one, and returns it."""
    kind, noun = (int, "a whole number") if whole else ((int, float), "a number")
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ValueError(f"{key} must be {noun}, got {value!r}")
    return value


class Fused(NamedTuple):
    """A tensor that combines several tensors.

    Attributes:
        whole: the end of its name.
        parts: the ends of the names of the combined tensors; with a single part the tensor is only renamed.
        by_head: whether they are interleaved by attention head: the rows of head 0 of each tensor, of head 1, ...
    """

    whole: str
    parts: tuple[str, ...]
    by_head: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Family:
    """The checkpoint format of one `model_type` of transformers.

    Attributes:
        name: the `model_type` of `config.json`.
        title: the beginning of the names of its classes.
        prefix: the prefix of the encoder's tensors in a model with a head.
        encoder: our layer -> the beginning of its tensors' names, after the prefix.
        heads: the same for layers on the encoder, without the prefix.
        text_head: overrides of `encoder` and `heads` for the classification and regression of texts.
        decoder: the name of the masked-token head's output layer, which has copies of the token embedding and the bias.
        classes: our tasks that have a class in transformers, `CLASSES` in most families; with `BOTH_HEADS` there is a
            class that predicts masked tokens and the next sentence.
        keys: our field -> the key of `config.json`, for the keys of this family.
        fixed: our field -> its value in all checkpoints of the family.
        values: our field -> the value in `config.json` -> our value, if these differ.
        only: key -> the only value that is supported.
        defaults: key -> the value that transformers assumes if the file has no such key.
        classifier_dropout: task -> the key of the dropout rate before the output layer; regression has that of
            classification. If the key is absent or null, the rate is the encoder's `dropout`.
        classifier_pooling: the key of the pooling before a classifier; None if it is always the first token.
        text_activation: whether the layer in place of the pooler before a classifier has the encoder's `activation`.
        transform_activation: the activation of the masked-token head; None for the encoder's.
        separator: whether heads search for the token with the id `sep_token_id`.
        dropout_before_pooler: whether the dropout of the classifier also acts before the layer in place of the pooler.
        variant: the class of the settings of a graph that differs from BERT's; None for BERT's.
        read_variant: the content of `config.json` -> the variant; raises a ValueError for unsupported values.
        write_variant: the configuration of an encoder with the variant -> keys of `config.json`.
        fixed_of_variant: the same as `fixed` for fields of the variant.
        fewest_segments: the fewest segments of an encoder; 0 if there may be no segment embedding.
        other_names: alternative beginnings of tensors' names in some files -> the beginnings in all other files.
        fused: tensors that combine several of the tensors in `encoder`.
        folded: a key of `config.json` with which row 0 of a table is added to each token, that table, and the one whose
            rows it is added to here.
        translate: the content of `config.json` -> the same in the keys of transformers, for files that were written for
            code of their own; raises a ValueError for unsupported values.
        other_types: alternative names of the `model_type`.
        marks: keys of `config.json` that identify the family, if its `model_type` is used by another family, too.
        unread: the beginnings of the names of tensors that transformers ignores if a class has no layer for them.
    """

    name: str
    title: str
    prefix: str
    encoder: Mapping[str, str] = dataclasses.field(default_factory=lambda: {**ENCODER, **_POOLER})
    heads: Mapping[str, str]
    text_head: Mapping[str, str] = dataclasses.field(default_factory=dict)
    decoder: str
    classes: tuple[str, ...] = CLASSES
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
    transform_activation: Activation | None = None
    separator: bool = False
    dropout_before_pooler: bool = False
    variant: type[Variant] | None = None
    fixed_of_variant: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    read_variant: Callable[[Mapping[str, Any]], Variant] | None = None
    write_variant: Callable[[EncoderConfig], Mapping[str, Any]] | None = None
    fewest_segments: int = 1
    other_names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fused: tuple[Fused, ...] = ()
    folded: tuple[str, str, str] | None = None
    translate: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    other_types: tuple[str, ...] = ()
    marks: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def stems(self, task: str) -> dict[str, str]:
        """Our layers in a checkpoint for a task -> the beginnings of their tensors' names."""
        stems = {layer: self.prefix + stem for layer, stem in self.encoder.items()} | _HEADS | dict(self.heads)
        return stems | dict(self.text_head) if classifies_texts(task) else stems

    def copies(self, task: str) -> dict[str, str]:
        """The names of copied tensors that a checkpoint may hold -> the names of the originals."""
        if task != "pretraining":
            return {}
        stems = self.stems(task)
        copies = {f"{self.decoder}.weight": f"{stems['token_embedding']}.weight"}
        if self.decoder != stems["masked_token_bias"]:
            copies[f"{self.decoder}.bias"] = f"{stems['masked_token_bias']}.bias"
        return copies

    def architecture(self, task: str, *, next_sentence: bool = False) -> str:
        """The name of the class with the head of a task."""
        kind = class_of(task)
        if (BOTH_HEADS if next_sentence else kind) not in self.classes:
            raise ValueError(f"Hugging Face's {self.title} has no head for {task}" + " with two heads" * next_sentence)
        return self.title + (BOTH_HEADS if next_sentence else TASK_NAMES[kind].model_class)

    def architectures(self) -> dict[str, str]:
        """Name of a class -> our task."""
        kinds = {TASK_NAMES[kind].model_class: kind for kind in self.classes if kind != BOTH_HEADS}
        if BOTH_HEADS in self.classes:
            kinds[BOTH_HEADS] = "pretraining"
        return {self.title + ending: task for ending, task in kinds.items()}

    def misfit(self, config: EncoderConfig, *, pooler: bool) -> str | None:
        """The reason why an encoder, with or without a pooler, does not match the family; None if it does."""
        if type(config.variant) is not (self.variant or type(None)):
            return f"variant must be {self.variant and self.variant.kind!r}, got {config.variant!r}"
        for name, value in self.fixed_of_variant.items():
            if getattr(config.variant, name) != value:
                return f"variant.{name} must be {value!r}, got {getattr(config.variant, name)!r}"
        written = {*self.keys, "variant"}
        defaults = {field.name: field.default for field in dataclasses.fields(config) if field.name not in written}
        for name, expected in {**defaults, **self.fixed}.items():
            value = getattr(config, name)
            if name == "pooler_activation" and self.text_activation and value == config.activation:
                continue
            if value != expected and name not in _TRAINING_FIELDS and (pooler or name != "pooler_activation"):
                return f"{name} must be {expected!r}, got {value!r}"
        for name, values in self.values.items():
            if getattr(config, name) not in values.values():
                return f"{name} must be one of {list(values.values())}, got {getattr(config, name)!r}"
        if "num_segments" in self.keys and config.num_segments < self.fewest_segments:
            return f"num_segments must be at least {self.fewest_segments}, got {config.num_segments}"
        return None


# Fields that do not change the outputs of a trained model.
_TRAINING_FIELDS = ("pooler_dropout",)
