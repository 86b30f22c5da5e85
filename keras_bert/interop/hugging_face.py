"""Reads and writes folders of Hugging Face transformers and of sentence-transformers, without PyTorch.

The key `architectures` of `config.json` decides which task a folder becomes, here with the names of BERT's classes:

    BertModel                            Embedding, with the pooling of sentence-transformers' files, else the mean
    BertForPreTraining, BertForMaskedLM  Pretraining
    BertForSequenceClassification        Classification; with one output, Regression, or Reranking where it is asked for
                                         or a cross-encoder names a sigmoid
    BertForTokenClassification           TokenClassification
    BertForQuestionAnswering             QuestionAnswering
    ElectraForPreTraining                ReplacedTokens
"""

import dataclasses
import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.core.checks import check, nearest_name
from keras_bert.core.folders import VOCABULARY_FILE, staged_files
from keras_bert.families.hugging_face import Family
from keras_bert.families.registry import family_of
from keras_bert.interop import hugging_face_config
from keras_bert.interop.configs import CONFIG_FILE, Head, write_json
from keras_bert.interop.heads import build_model, build_task, head_of, vector_settings
from keras_bert.interop.hub import find_checkpoint
from keras_bert.interop.model_files import find_model_files
from keras_bert.interop.names import PROJECTION, hugging_face_format, present_names
from keras_bert.interop.safetensors_files import FILE, open_tensors, save_tensors
from keras_bert.interop.sentence_transformers import read_pooling, transformer_folder, write_pooling
from keras_bert.interop.vocabularies import write_definition, write_settings, write_vocabulary_file
from keras_bert.interop.weights import (
    POOLER_LAYER,
    Tensors,
    check_layers,
    has_pooler,
    join,
    read_weights,
    split,
    write_weights,
    zero_pooler,
)
from keras_bert.models.encoder import config_of, has_layer
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import check_keras_model
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.registry import TASKS

logger = logging.getLogger(__name__)

_TOKENIZER_LIBRARIES = ("tensorflow", "tensorflow_text")


def from_hugging_face(folder: str | os.PathLike[str], task: str | None = None, **settings: Any) -> Task:
    """Reads a checkpoint of transformers or sentence-transformers as the task of its head, or as another task.

    The longest input is `max_seq_length` of sentence-transformers, else `model_max_length` of the tokenizer, and at
    most the number of positions. A classifier returns logits, as in transformers; so does a
    cross-encoder with one output, unless its files name a sigmoid: then it is a `Reranking` with that activation.

    Args:
        folder: a folder with `config.json`, `model.safetensors` or `pytorch_model.bin` (or shards and their index),
            `tokenizer_config.json`, and `vocab.txt` or, needed for byte-level BPE and unigram, `tokenizer.json`.
            `OWNER/NAME`, unless there is such a folder, and `hf://OWNER/NAME[@REVISION][/FOLDER]` are on the Hugging
            Face hub: the files that are read are downloaded into its cache, and none of their code is run.
        task: a key of `TASKS`, for a new head on the checkpoint's encoder with its pooling and longest input; None for
            the task of the checkpoint's head. A head for the same task and labels is kept, and that of a cross-encoder
            with one label for `reranking`; where another pooling, dropout or scale is asked for, it is new, and the log
            says so.
        settings: arguments of the task's `build`, such as `labels`.

    Raises:
        FileNotFoundError: a file is missing.
        ModuleNotFoundError: TensorFlow or tensorflow-text, which tokenizing needs, is not installed.
        ValueError: a file is damaged or has an unsupported value, tensors, vocabulary and configuration do not fit
            each other, or the hub has no such repository, or none that is open to the user.

    Examples:
        >>> keras_bert.to_hugging_face(task, "sentiment-hf")
        >>> from_hugging_face("sentiment-hf").labels
        ('no', 'yes')
        >>> from_hugging_face("sentiment-hf", task="token_classification", labels=["O", "B-film"]).labels
        ('O', 'B-film')
    """
    if task is not None and task not in TASKS:
        hint = nearest_name(task, TASKS)
        raise ValueError(f"from_hugging_face.task must be one of {sorted(TASKS)}, got {task!r}{hint}")
    loaded = _read_task(find_checkpoint(folder), settings.get("max_length"))
    kind = type(loaded) if task is None else TASKS[task]
    of_model = {"max_length": loaded.max_length}
    if isinstance(loaded, Embedding) and issubclass(kind, Embedding):
        # Vectors keep the prompts and the comparison that they were trained with.
        of_model |= {**loaded.settings(), **loaded.head()}
    # A task that other libraries know by the name of another one has the head of that one.
    if not issubclass(kind, type(loaded)):
        return kind.build(loaded.encoder, loaded.tokenizer, **{**of_model, **settings})
    of_head = {"dropout": head_of(loaded).dropout, **loaded.head()}
    if changed := _find_changes(loaded, of_head, settings):
        if not isinstance(loaded, Embedding):
            logger.warning("%s: its head for %s is replaced by a new one with other %s", folder, loaded.name, changed)
        return kind.build(loaded.encoder, loaded.tokenizer, **{**of_model, **settings})
    kept = {name: value for name, value in settings.items() if name not in of_head}
    return kind.from_settings(loaded.model, loaded.tokenizer, {**loaded.settings(), **kept})


def _find_changes(task: Task, of_head: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """The settings with which a task needs another head, or, of vectors, another graph.

    Lists and tuples are equal where their items are.
    """
    held = {**task.settings(), **of_head}
    names = set(settings) if isinstance(task, Embedding) else set(settings) & {"labels", *of_head}
    return sorted(
        name
        for name in names
        if name not in held
        or (list(held[name]) != list(settings[name]) if isinstance(held[name], list) else held[name] != settings[name])
    )


def _read_task(folder: Path, max_length: int | None = None) -> Task:
    """The task of a checkpoint's head, see `from_hugging_face`; the longest input is that of the files for None."""
    # Tokenizers need TensorFlow; the rest of this module does not.
    try:
        from keras_bert.tokenizers.subwords import SubwordTokenizer
        from keras_bert.tokenizers.tokenizer import Tokenizer
    except ModuleNotFoundError as error:
        if error.name not in _TOKENIZER_LIBRARIES:
            raise
        raise ModuleNotFoundError(
            f"from_hugging_face: tokenizing needs tensorflow and tensorflow-text, and {error.name} is not installed; "
            "`read_model(folder)` of keras_bert.interop.hugging_face returns the model alone, without them",
            name=error.name,
        ) from error

    root, folder = folder, transformer_folder(folder)
    family, content = hugging_face_config.read_config(folder, root)
    tokenizer, tokenizer_length = hugging_face_config.read_tokenizer(
        folder, family, content, Tokenizer, SubwordTokenizer
    )
    model, head, longest = _read_model(folder, family, content, root)
    longest = longest or tokenizer_length
    positions = config_of(model).max_length
    of_files = positions if longest is None else min(positions, longest)
    return build_task(model, head, tokenizer, of_files if max_length is None else max_length)


def read_model(folder: str | os.PathLike[str]) -> keras.Model:
    """Reads the Keras model of a checkpoint without its tokenizer; needs no TensorFlow."""
    root = find_checkpoint(folder)
    folder = transformer_folder(root)
    return _read_model(folder, *hugging_face_config.read_config(folder, root), root)[0]


def to_hugging_face(task: Task, folder: str | os.PathLike[str], *, family: str | None = None) -> None:
    """Writes a task as a folder that transformers loads, and for an embedding sentence-transformers, too.

    Writes `config.json`, `model.safetensors`, `vocab.txt` and `tokenizer_config.json`, all of them or none. Weights are
    written in float32. Settings of answers, as the stride of question answering, have no place in these files. As
    `BertModel` always has a pooler, an encoder without one is written with a pooler of zeros, which `from_hugging_face`
    reads as none.

    Args:
        task: the task to write.
        folder: the folder of the files, which is made.
        family: the `model_type` of the files; None for the first of `FAMILIES` that has the task's model.

    Raises:
        ValueError: the family has no model like the task's, as for pooling by the mean under a classifier; the task has
            an adapter that is not merged; or `folder` holds a file that would be read beside those written.

    Examples:
        >>> to_hugging_face(task, "sentiment-hf")
        >>> sorted(os.listdir("sentiment-hf"))
        ['config.json', 'model.safetensors', 'tokenizer_config.json', 'vocab.txt']
    """
    check_keras_model(task, "written for transformers")
    folder = Path(folder)
    config, head, pooler = config_of(task.model), head_of(task), has_layer(task.model, "pooler")
    rule = "not be set, as no module of sentence-transformers truncates; write the whole model and load it with it"
    check("to_hugging_face", "dimension", head.dimension is None, rule, head.dimension)
    kind = family_of(config, family, pooler=pooler)
    form = hugging_face_format(kind, head.task)
    with task.weights_for("transformers"):
        tensors = join(write_weights(task.model, form), kind.fused, config.num_heads)
    if head.task == "embedding":
        if not pooler and POOLER_LAYER in form.stems and config.pooler_activation != "none":
            tensors |= zero_pooler(form, config.hidden_size)
        # transformers names the tensors of an encoder without a head without this prefix.
        tensors = {name.removeprefix(kind.prefix): array for name, array in tensors.items()}
    of_dense = {name: tensors.pop(name) for name in list(tensors) if name.startswith(PROJECTION)}
    tokenizer = task.tokenizer
    with staged_files(folder) as staging:
        content = hugging_face_config.write_config(config, head, kind, tokenizer.pad_id, tokenizer.sep_id)
        write_json(staging / CONFIG_FILE, content)
        save_tensors(tensors, staging / FILE)
        if tokenizer.lowercase is None:
            segments = config.num_segments > 1
            write_definition(staging, tokenizer.definition(), tokenizer.special, task.max_length, segments=segments)
        else:
            write_vocabulary_file(staging / VOCABULARY_FILE, tokenizer.vocabulary)
            write_settings(staging, tokenizer.lowercase, task.max_length, tokenizer.vocabulary)
        if head.task == "embedding":
            paths = write_pooling(staging, vector_settings(head, task.max_length), config.hidden_size)
            for number, path in enumerate(paths):
                start = f"{PROJECTION}{number}."
                dense = {name.removeprefix(start): of_dense[name] for name in of_dense if name.startswith(start)}
                save_tensors(dense, staging / path / FILE)
        present = (path.relative_to(folder).as_posix() for depth in ("*", "*/*") for path in folder.glob(depth))
        for name in find_model_files(present):
            if not (staging / name).exists():
                raise ValueError(f"{folder} must not hold {name}, which would be read beside what is written")


def _read_model(
    folder: Path, family: Family, content: Mapping[str, Any], root: Path
) -> tuple[keras.Model, Head, int | None]:
    """The model with its weights, its head, and the longest text in tokens where sentence-transformers limits it.

    `root` is the folder of the files of sentence-transformers.
    """
    config = hugging_face_config.read_encoder(folder, family, content)
    tensors = open_tensors(folder)
    check_layers(config, tensors, str(folder))
    task = hugging_face_config.task_of(family, content)
    form, copies = hugging_face_format(family, task), family.copies(task)
    in_file = present_names(tensors, family, str(folder))
    in_file = {**{original: in_file[copy] for copy, original in copies.items() if copy in in_file}, **in_file}
    loaders: dict[str, Callable[[], Any]] = {
        name: functools.partial(tensors.__getitem__, in_file[name]) for name in in_file
    }
    if family.folded is not None and {*family.folded[1:]} <= set(in_file):
        key, added, table = family.folded
        row, rows = loaders.pop(added), loaders[table]
        if content.get(key):
            loaders[table] = lambda: rows() + row()[:1]
    table = f"{family.stems('embedding').get('segment_embedding')}.weight"
    if config.num_segments == 1 and table in loaders:
        # UniXcoder has more rows, which its tokenizer never names.
        all_rows = loaders[table]
        loaders[table] = lambda: all_rows()[:1]
    tensors = split(Tensors(loaders), family.fused, config.num_heads)
    head = hugging_face_config.read_head(folder, family, content)
    longest = None
    if head.task == "embedding":
        settings = read_pooling(root)
        longest = settings.max_length
        shared = {field: value for field, value in settings._asdict().items() if hasattr(head, field)}
        pooled = config.hidden_size * len(settings.pooling.split("+"))
        if (settings.dimension or 0) >= [pooled, *(dense.units for dense in settings.projections)][-1]:
            shared["dimension"] = None
        head = dataclasses.replace(head, **shared)
        tensors = _with_projections(tensors, [root / name for name in settings.dense_folders])
    # A pooler without weights is always part of the encoder.
    model = build_model(config, head, pooler=has_pooler(tensors, form) or config.pooler_activation == "none")
    ignored = {*copies, *(f"{family.prefix}embeddings.{name}" for name in _BUFFERS)}
    ignored |= {name for name in tensors if name.startswith(family.unread)}
    if head.task == "embedding":
        # The heads of a model of which only the encoder is read.
        ignored |= {name for name in tensors if not name.startswith((family.prefix, PROJECTION))}
    stem = family.stems("embedding").get(POOLER_LAYER)
    if not has_layer(model, "pooler") or stem != form.stems[POOLER_LAYER]:
        # Files of heads that do not read the pooler often hold its weights.
        ignored |= {f"{stem}.weight", f"{stem}.bias"}
    read_weights(model, tensors, form, source=str(folder), ignored=ignored)
    return model, head, longest


def _with_projections(tensors: Tensors, folders: Sequence[Path]) -> Tensors:
    """The tensors of a model with those of its dense modules, each of which has a folder of its own."""
    loaders = {name: functools.partial(tensors.__getitem__, name) for name in tensors}
    for number, folder in enumerate(folders):
        dense = open_tensors(folder)
        loaders |= {f"{PROJECTION}{number}.{name}": functools.partial(dense.__getitem__, name) for name in dense}
    return Tensors(loaders)


# Constants that old versions of transformers saved among the weights.
_BUFFERS = ("position_ids", "token_type_ids")
