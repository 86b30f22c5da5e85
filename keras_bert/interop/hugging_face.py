"""Folders of Hugging Face transformers and of sentence-transformers, read and written without PyTorch.

A file decides which task it becomes, by `architectures` in its `config.json`:

    BertModel                            Embedding, pooled as the files of sentence-transformers say, else by the mean
    BertForPreTraining, BertForMaskedLM  Pretraining
    BertForSequenceClassification        Classification; with one output, Regression
    BertForTokenClassification           TokenClassification
    BertForQuestionAnswering             QuestionAnswering
"""

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.folders import TOKENIZER_FILE, staged_files
from keras_bert.interop import hugging_face_config
from keras_bert.interop.configs import write_json
from keras_bert.interop.heads import Head, build_model, build_task, head_of
from keras_bert.interop.names import (
    HUGGING_FACE,
    HUGGING_FACE_BUFFERS,
    HUGGING_FACE_COPIES,
    HUGGING_FACE_NEXT_SENTENCE,
    HUGGING_FACE_PREFIX,
    hugging_face_name,
)
from keras_bert.interop.safetensors_files import FILE, INDEX_FILE, open_tensors, save_tensors
from keras_bert.interop.sentence_transformers import (
    LENGTH_FILE,
    MODULES_FILE,
    SETTINGS_FILE,
    Pooled,
    read_pooling,
    write_pooling,
)
from keras_bert.interop.vocabularies import (
    SPECIAL_TOKENS_FILE,
    Vocabulary,
    check_size,
    read_vocabulary,
    write_vocabulary,
)
from keras_bert.interop.weights import POOLER, Array, Tensors, has_pooler, read_weights, write_weights, zero_pooler
from keras_bert.models.encoder import config_of, has_layer
from keras_bert.tasks.base import Task

_OF_TOKENIZER = ("tensorflow", "tensorflow_text")
# What transformers or sentence-transformers would read beside the files that are written.
_MISLEADING = (
    TOKENIZER_FILE,
    INDEX_FILE,
    MODULES_FILE,
    LENGTH_FILE,
    SETTINGS_FILE,
    SPECIAL_TOKENS_FILE,
    "added_tokens.json",
)


def from_hugging_face(folder: str | os.PathLike[str]) -> Task:
    """Reads a checkpoint of a BERT into the task that it was made for.

    The longest input is `max_seq_length` of sentence-transformers, else `model_max_length` of the tokenizer, else
    as many tokens as there are positions. A classifier gives logits, as in transformers.

    Args:
        folder: with `config.json`, `model.safetensors` (or shards and their index), `vocab.txt` or `tokenizer.json`,
            and `tokenizer_config.json`.

    Raises:
        FileNotFoundError: a file is missing, or the weights are there only as a pickle.
        ModuleNotFoundError: TensorFlow or tensorflow-text, which tokenizing needs, is not installed.
        ValueError: a file is damaged, or asks for what this library does not do; or tensors, vocabulary and
            configuration do not fit each other.
    """
    # Reading text into tokens is TensorFlow's work; all else runs without it.
    try:
        from keras_bert.tokenizers.tokenizer import Tokenizer
    except ModuleNotFoundError as error:
        if error.name not in _OF_TOKENIZER:
            raise
        raise ModuleNotFoundError(
            f"from_hugging_face: tokenizing needs tensorflow and tensorflow-text, and {error.name} is not installed; "
            "`read_model(folder)` of keras_bert.interop.hugging_face gives the model alone, without them",
            name=error.name,
        ) from error

    folder = Path(folder)
    content = hugging_face_config.read_config(folder)
    vocabulary = read_vocabulary(folder)
    check_size(str(folder), vocabulary.pieces, hugging_face_config.read_encoder(folder, content).vocabulary_size)
    model, head, longest = _read_model(folder, content)
    lengths = [config_of(model).max_length, vocabulary.max_length, longest]
    tokenizer = Tokenizer(vocabulary.pieces, vocabulary.lowercase)
    return build_task(model, head, tokenizer, min(length for length in lengths if length is not None))


def read_model(folder: str | os.PathLike[str]) -> keras.Model:
    """The bare model of `from_hugging_face`, without its tokenizer; it needs no TensorFlow.

    Raises:
        FileNotFoundError: see `from_hugging_face`.
        ValueError: see `from_hugging_face`.
    """
    return _read_model(Path(folder), hugging_face_config.read_config(Path(folder)))[0]


def to_hugging_face(task: Task, folder: str | os.PathLike[str]) -> None:
    """Writes a task as transformers, and for an embedding also sentence-transformers, loads it.

    Writes `config.json`, `model.safetensors`, `vocab.txt` and `tokenizer_config.json`; all of them or none. Weights
    are written in float32; settings of answers, as the stride of question answering, have no place in these files.
    Hugging Face's `BertModel` always has a pooler: that of an encoder without one is written
    as zeros, which `from_hugging_face` takes for none.

    Raises:
        ValueError: Hugging Face's BERT has no head like the task's, as for pooling by the mean under a classifier;
            or `folder` holds a file that would be read beside those written.
    """
    folder = Path(folder)
    config, head = config_of(task.model), head_of(task)
    tensors = write_weights(task.model, HUGGING_FACE)
    if head.task == "embedding":
        if not has_layer(task.model, "pooler"):
            tensors |= zero_pooler(HUGGING_FACE, config.hidden_size)
        # transformers names the tensors of an encoder that stands alone without it.
        tensors = {name.removeprefix(HUGGING_FACE_PREFIX): array for name, array in tensors.items()}
    tokenizer = task.tokenizer
    with staged_files(folder) as staging:
        content = hugging_face_config.write_config(config, head, tokenizer.pad_id)
        write_json(staging / hugging_face_config.FILE, content)
        save_tensors(tensors, staging / FILE)
        write_vocabulary(staging, Vocabulary(tokenizer.vocabulary, tokenizer.lowercase, task.max_length))
        if head.task == "embedding":
            write_pooling(staging, Pooled(head.pooling, head.normalize, task.max_length), config.hidden_size)
        for name in _MISLEADING:
            if (folder / name).exists() and not (staging / name).exists():
                raise ValueError(f"{folder} must not hold {name}, which would be read beside what is written")


def _read_model(folder: Path, content: Mapping[str, Any]) -> tuple[keras.Model, Head, int | None]:
    """The filled model, its head, and the most tokens of a text where sentence-transformers limits them."""
    config = hugging_face_config.read_encoder(folder, content)
    tensors = _present_names(open_tensors(folder), folder)
    head = hugging_face_config.read_head(folder, content, next_sentence=HUGGING_FACE_NEXT_SENTENCE in tensors)
    longest = None
    if head.task == "embedding":
        pooling, normalize, longest = read_pooling(folder)
        head = Head(task=head.task, pooling=pooling, normalize=normalize)
    model = build_model(config, head, pooler=has_pooler(tensors, HUGGING_FACE))
    _check_copies(tensors, folder)
    ignored = {*HUGGING_FACE_BUFFERS, *(HUGGING_FACE_COPIES if head.task == "pretraining" else ())}
    if not has_layer(model, "pooler"):
        # Files of heads that do not read the pooler often hold it all the same.
        ignored |= {foreign.name for foreign in HUGGING_FACE.names(POOLER).values()}
    read_weights(model, tensors, HUGGING_FACE, source=str(folder), ignored=ignored)
    return model, head, longest


def _present_names(tensors: Tensors, folder: Path) -> Tensors:
    """The same tensors by the names that transformers gives them today."""
    renamed = {}
    for name in tensors:
        present = hugging_face_name(name)
        if present in renamed:
            raise ValueError(f"{folder} holds {present!r} twice, once by an old name")
        renamed[present] = functools.partial(tensors.__getitem__, name)
    for copy, original in HUGGING_FACE_COPIES.items():
        if copy in renamed and original not in renamed:
            renamed[original] = renamed[copy]
    return Tensors(renamed)


def _check_copies(tensors: Mapping[str, Array], folder: Path) -> None:
    for copy, original in HUGGING_FACE_COPIES.items():
        if copy in tensors and not np.array_equal(tensors[copy], tensors[original]):
            raise ValueError(
                f"{folder}: tensor {copy!r} must equal {original!r}, which this library's BERT uses in both places; "
                "a model whose weights are not tied is not supported"
            )
