"""Writes the files of a Hugging Face folder beside an exported graph, which contains the weights.

Runtimes as transformers.js and Optimum read from `config.json` the names of the labels, and a class with the inputs of
the graph; the graph alone decides the outputs.
"""

import dataclasses
from pathlib import Path

from keras_bert.core.folders import TOKENIZER_FILE
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.interop.configs import write_json
from keras_bert.interop.heads import head_of
from keras_bert.interop.hugging_face_config import FILE, write_config
from keras_bert.interop.sentence_transformers import PoolingSettings, write_pooling
from keras_bert.interop.tokenizer_json import write_tokenizer
from keras_bert.interop.vocabularies import write_definition, write_settings
from keras_bert.models.encoder import config_of
from keras_bert.tasks.base import Task


def write_description(task: Task, folder: Path) -> None:
    """Writes `config.json`, `tokenizer.json` and `tokenizer_config.json`, and the pooling of an embedding.

    The configuration describes a BERT of the task's size for every graph: all runtimes have this class, and some
    graphs, as that of a pruned model or of a classifier with pooling by the mean, belong to no class.

    Raises:
        ValueError: transformers has no head for the task.
    """
    config, head, tokenizer = config_of(task.model), head_of(task), task.tokenizer
    content = write_config(config, dataclasses.replace(head, pooling="cls"), BERT, tokenizer.pad_id)
    write_json(folder / FILE, content)
    if tokenizer.lowercase is None:
        write_definition(folder, tokenizer.definition(), tokenizer.special, task.max_length)
    else:
        write_settings(folder, tokenizer.lowercase, task.max_length)
        write_json(folder / TOKENIZER_FILE, write_tokenizer(tokenizer.vocabulary, lowercase=tokenizer.lowercase))
    if head.task == "embedding":
        vectors = (head.pooling, head.normalize, task.max_length, head.prompts, head.similarity_function)
        write_pooling(folder, PoolingSettings(*vectors), task.network().output.shape[-1])
