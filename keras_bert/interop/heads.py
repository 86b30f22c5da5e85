"""The heads of checkpoints of other libraries, and the models and tasks that are built for them."""

import dataclasses
from typing import TYPE_CHECKING, Any

import keras

from keras_bert.core.config import EncoderConfig
from keras_bert.families.hugging_face import TASK_NAMES, classifies_texts
from keras_bert.interop.configs import Head
from keras_bert.interop.sentence_transformers import PoolingSettings
from keras_bert.models.encoder import build_encoder, has_layer
from keras_bert.models.pretraining import build_pretraining
from keras_bert.models.replaced_tokens import build_replaced_tokens
from keras_bert.options.data import Projection, Prompts
from keras_bert.tasks.base import Task
from keras_bert.tasks.classification import build_classifier, pooling_of
from keras_bert.tasks.embedding import Embedding, build_embedder
from keras_bert.tasks.question_answering import build_span_classifier, separator_of
from keras_bert.tasks.registry import TASKS
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.reranking import Reranking
from keras_bert.tasks.token_classification import build_tagger

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

_MASKED_TOKENS = "masked_token_transform"


def build_model(config: EncoderConfig, head: Head, *, pooler: bool) -> keras.Model:
    """Builds the model of a head with new weights; the encoder of an embedding has BERT's pooler with `pooler`."""
    encoder = build_encoder(config, pooler=pooler if head.task == "embedding" else head.reads_pooler)
    rate: dict[str, Any] = {} if head.dropout is None else {"dropout": head.dropout}
    pooled: dict[str, Any] = {"pooling": head.pooling, **rate}
    match head.task:
        case "classification" | "multi_label":
            return build_classifier(encoder, len(head.labels), **pooled)
        case "embedding":
            fields = ("pooling", "normalize", "projections", "dimension")
            return build_embedder(encoder, **{field: getattr(head, field) for field in fields})
        case "pretraining":
            return build_pretraining(encoder, next_sentence=head.next_sentence, activation=head.transform_activation)
        case "question_answering":
            return build_span_classifier(encoder, separator=head.separator, **rate)
        case "regression":
            return build_regressor(encoder, **pooled)
        case "replaced_tokens":
            return build_replaced_tokens(encoder)
        case "token_classification":
            return build_tagger(encoder, len(head.labels), **rate)
    raise ValueError(f"Head.task must be one of {sorted(TASKS)}, got {head.task!r}")


def build_task(model: keras.Model, head: Head, tokenizer: "BaseTokenizer", max_length: int) -> Task:
    """Builds the task of a model of `build_model`. Other settings are defaults, or less if `max_length` is short."""
    settings: dict[str, Any] = {"labels": head.labels} if head.labels else {}
    if head.task == "question_answering":
        # The defaults of run_squad.py, as far as a short input has room for them.
        question = min(64, max_length // 3)
        settings = {"max_query_length": question, "stride": min(128, (max_length - 3 - question) // 2)}
    elif head.task == Embedding.name:
        settings = {"prompts": dataclasses.asdict(head.prompts), "similarity_function": head.similarity_function}
    elif head.activation != "none":
        return Reranking(model, tokenizer, max_length=max_length, activation=head.activation)
    return TASKS[head.task](model, tokenizer, max_length=max_length, **settings)


def head_of(task: Task) -> Head:
    """The head of a task."""
    name = task.library_task or task.name
    if name not in TASK_NAMES:
        raise ValueError(f"the task must be one of {sorted(TASK_NAMES)}, which other libraries have, got {name!r}")
    model, output_layer = task.model, TASK_NAMES[name].output_layer
    dropout = None if output_layer is None else model.get_layer(f"{output_layer}_dropout").rate
    vectors = task.head()
    return Head(
        task=name,
        labels=task.labels,
        dropout=dropout,
        next_sentence=has_layer(model, "next_sentence"),
        transform_activation=model.get_layer(_MASKED_TOKENS).activation if has_layer(model, _MASKED_TOKENS) else None,
        pooling=pooling_of(model) if classifies_texts(name) else vectors.get("pooling", "mean"),
        normalize=has_layer(model, "normalization"),
        separator=separator_of(model),
        prompts=getattr(task, "prompts", Prompts()),
        similarity_function=getattr(task, "similarity_function", "cosine"),
        projections=tuple(Projection(**projection) for projection in vectors.get("projections", ())),
        dimension=vectors.get("dimension"),
        activation=getattr(task, "activation", "none"),
    )


def vector_settings(head: Head, max_length: int) -> PoolingSettings:
    """What sentence-transformers' files say about the vectors of an embedding."""
    fields = set(PoolingSettings._fields) - {"max_length", "dense_folders", "dimension"}
    return PoolingSettings(max_length=max_length, **{field: getattr(head, field) for field in fields})
