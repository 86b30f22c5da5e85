"""Reads and writes checkpoints of google-research/bert.

A checkpoint is `<prefix>.index`, `<prefix>.data-...`, `bert_config.json` and `vocab.txt`. The names of its tensors
decide its task:

    cls/predictions/...          Pretraining (run_pretraining.py), with cls/seq_relationship/... both heads
    cls/squad/...                QuestionAnswering (run_squad.py)
    output_weights, output_bias  Classification (run_classifier.py); with one output, Regression
    cls/token_classification/... TokenClassification; Google has no such head, the name is ours
    none of these                Embedding, the mean of the states
"""

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_bert.core.checks import check
from keras_bert.core.config import Activation
from keras_bert.core.folders import VOCABULARY_FILE, staged_files
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.interop.configs import (
    Head,
    check_pooling,
    read_encoder_config,
    read_json,
    write_encoder_config,
    write_json,
)
from keras_bert.interop.heads import build_model, build_task, head_of
from keras_bert.interop.names import TF1, TF1_TAGGER, TensorNames
from keras_bert.interop.vocabularies import check_size, name_unused_tokens, read_vocabulary_file, write_vocabulary_file
from keras_bert.interop.weights import (
    POOLER,
    Array,
    Tensors,
    check_layers,
    has_pooler,
    read_weights,
    write_weights,
    zero_pooler,
)
from keras_bert.models.encoder import config_of, has_layer
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import check_keras_model
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.tokenizer import Tokenizer

CONFIG_FILE = "bert_config.json"

# `gelu` of Google's modeling.py is the tanh form.
_ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu_tanh", "relu": "relu"}
_WRITTEN_ACTIVATIONS = {ours: theirs for theirs, ours in _ACTIVATIONS.items()}
# The epsilon of tf.contrib.layers.layer_norm, which Google's code does not set and bert_config.json does not hold.
_EPSILON = 1e-12
_EPSILON_KEY = "layer_norm_eps"

# TensorFlow's errors for damaged files; a read beyond the end is an IndexError.
_DAMAGES = (tf.errors.OpError, IndexError, RuntimeError, ValueError)

# Task -> our weight that only checkpoints with its head have, and the names that it has there.
_MARKS: dict[str, tuple[str, TensorNames]] = {
    "pretraining": ("masked_token_bias/bias", TF1),
    "question_answering": ("span_classifier/bias", TF1),
    "token_classification": ("classifier/bias", TF1_TAGGER),
    "classification": ("classifier/bias", TF1),
    # Never chosen by names, as it has the same names as a classification.
    "multi_label": ("classifier/bias", TF1),
}


def from_tf1(
    prefix: str | os.PathLike[str], *, lowercase: bool, task: str | None = None, labels: Sequence[str] | None = None
) -> Task:
    """Reads a checkpoint of Google's code; the optimizer's variables (`adam_m`, `adam_v`, `global_step`) are skipped.

    Args:
        prefix: the checkpoint's path without `.index`; its folder has `bert_config.json` and `vocab.txt`.
        lowercase: True for an uncased model; the files do not contain this.
        task: a key of `TASKS`; None to choose it by the names of the tensors. Several public taggers need
            `token_classification`, as their head is named `output_weights`; `multi_label` has that name, too.
        labels: the names of a classifier's outputs, which the files do not contain; by default `LABEL_0`, `LABEL_1`,
            ...

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged or has an unsupported value, or tensors, vocabulary, configuration, task and
            labels do not fit each other.

    Examples:
        >>> to_tf1(task, "sentiment-tf1/model.ckpt")
        >>> from_tf1("sentiment-tf1/model.ckpt", lowercase=True, labels=["no", "yes"]).labels
        ('no', 'yes')
    """
    prefix = Path(prefix)
    path = prefix.parent / CONFIG_FILE
    config = read_encoder_config(path, {**read_json(path), _EPSILON_KEY: _EPSILON}, BERT.keys, _ACTIVATIONS)
    if not (prefix.parent / VOCABULARY_FILE).is_file():
        raise FileNotFoundError(f"{prefix.parent} has no {VOCABULARY_FILE}")
    tokens = read_vocabulary_file(prefix.parent / VOCABULARY_FILE)
    check_size(str(prefix.parent), tokens, config.vocabulary_size)
    tokens += tuple(name_unused_tokens(tokens, config.vocabulary_size))
    tensors = _open(prefix)
    check_layers(config, tensors, str(prefix))
    head = _read_head(tensors, task, labels)
    model = build_model(config, head, pooler=has_pooler(tensors, TF1))
    # Google's graphs always have a pooler, even if nothing reads it.
    ignored = () if has_layer(model, "pooler") else [foreign.name for foreign in TF1.names(POOLER).values()]
    read_weights(model, tensors, _format(head, tensors), source=str(prefix), ignored=ignored)
    return build_task(model, head, Tokenizer(tokens, lowercase), config.max_length)


def to_tf1(task: Task, prefix: str | os.PathLike[str]) -> None:
    """Writes a task as a checkpoint that Google's code restores, with `bert_config.json` and `vocab.txt` beside it.

    The files contain no labels, no prompts, no longest input and no setting for lowercasing: keep them. As Google's
    graphs always have a pooler, a model without one is written with a pooler of zeros, which `from_tf1` reads as none.

    Raises:
        ValueError: Google's code has no such model: an activation other than gelu_tanh and relu, another epsilon of
            LayerNorm, a classifier with pooling by the mean, an embedding other than the whole mean of length 1, or
            an adapter that is not merged.

    Examples:
        >>> to_tf1(task, "sentiment-tf1/model.ckpt")
        >>> sorted(os.listdir("sentiment-tf1"))
        ['bert_config.json', 'model.ckpt.data-00000-of-00001', 'model.ckpt.index', 'vocab.txt']
    """
    check_keras_model(task, "written as Google's checkpoint")
    prefix = Path(prefix)
    config, head = config_of(task.model), head_of(task)
    check_pooling(head)
    misfit = BERT.misfit(config, pooler=has_layer(task.model, "pooler"))
    check("to_tf1", "encoder", misfit is None, f"be a BERT: {misfit}", "another family's")
    check("to_tf1", "activation", config.activation in _WRITTEN_ACTIVATIONS, "be gelu_tanh or relu", config.activation)
    same = config.layer_norm_epsilon == _EPSILON
    check("to_tf1", "layer_norm_epsilon", same, f"be {_EPSILON}", config.layer_norm_epsilon)
    vectors = (head.pooling, head.normalize, head.similarity_function, head.projections, head.dimension)
    plain = head.task != "embedding" or vectors == ("mean", True, "cosine", (), None)
    rule = (
        "be the whole mean, of length 1, compared by cosine, as the files say none of it; build one on `task.encoder`"
    )
    check("to_tf1", "embedding", plain, rule, vectors)
    with task.weights_for("Google's checkpoints"):
        tensors = write_weights(task.model, _format(head, {}))
    if not has_layer(task.model, "pooler"):
        tensors |= zero_pooler(TF1, config.hidden_size)
    with staged_files(prefix.parent) as staging:
        content = write_encoder_config(config, BERT.keys, _WRITTEN_ACTIVATIONS[config.activation])
        del content[_EPSILON_KEY]
        write_json(staging / CONFIG_FILE, content)
        write_vocabulary_file(staging / VOCABULARY_FILE, task.tokenizer.vocabulary)
        tf.raw_ops.SaveV2(
            prefix=str(staging / prefix.name),
            tensor_names=list(tensors),
            shape_and_slices=[""] * len(tensors),
            tensors=[tf.constant(array) for array in tensors.values()],
        )


def _open(prefix: Path) -> Tensors:
    """The tensors of a checkpoint without the optimizer's tensors."""
    if not Path(f"{prefix}.index").is_file():
        raise FileNotFoundError(f"there is no {prefix}.index; the prefix is the path without `.index` or `.data-...`")
    try:
        reader = tf.train.load_checkpoint(str(prefix))
    except _DAMAGES as error:
        raise ValueError(f"{prefix} is not a whole TF1 checkpoint: {error}") from error

    def read(name: str) -> Array:
        try:
            return reader.get_tensor(name)
        except _DAMAGES as error:
            raise ValueError(f"{prefix}: tensor {name!r} cannot be read: {error}; likely cut short") from error

    kept = (name for name in reader.get_variable_to_shape_map() if not name.endswith(("/adam_m", "/adam_v")))
    return Tensors({name: functools.partial(read, name) for name in kept if name != "global_step"})


def _read_head(tensors: Mapping[str, Array], task: str | None, labels: Sequence[str] | None) -> Head:
    if task is not None:
        task_names = sorted(name for name, kind in TASKS.items() if kind.library_task in ("", name))
        check("from_tf1", "task", task in task_names, f"be one of {task_names}", task)
    kind = task or next((name for name in _MARKS if _mark(name) in tensors), "embedding")
    if kind == "classification" and task is None and len(tensors[_mark(kind)]) == 1:
        kind = "regression"
    if kind not in ("classification", "multi_label", "token_classification"):
        check("from_tf1", "labels", not labels, f"be None for {kind}, which has none", labels)
        both = kind == "pretraining" and _mark_of("next_sentence/bias") in tensors
        return Head(task=kind, next_sentence=both, pooling="mean" if kind == "embedding" else "cls")
    mark = next((name for name in (_mark(kind), _mark("classification")) if name in tensors), None)
    if mark is None:
        raise ValueError(f"from_tf1: for the task {kind!r} the checkpoint must hold {_mark(kind)!r}")
    outputs = len(tensors[mark])
    names = tuple(labels) if labels is not None else tuple(f"LABEL_{number}" for number in range(outputs))
    check("from_tf1", "labels", len(names) == outputs, f"be as many as the checkpoint's outputs ({outputs})", names)
    return Head(task=kind, labels=names)


def _format(head: Head, tensors: Mapping[str, Any]) -> TensorNames:
    """Google's names, and our name for the head of a tagger unless the checkpoint has it as a classifier."""
    return TF1_TAGGER if head.task == "token_classification" and _mark("classification") not in tensors else TF1


def _mark(task: str) -> str:
    return _mark_of(*_MARKS[task])


def _mark_of(path: str, form: TensorNames = TF1) -> str:
    return form.names([path])[path].name
