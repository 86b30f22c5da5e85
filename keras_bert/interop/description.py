"""A Hugging Face folder without weights: what stands beside a graph that brings its own.

Runtimes of graphs, as transformers.js and Optimum, look in `config.json` for names of answers and for a class that
takes the graph's inputs; what is computed stands in the graph alone.
"""

import dataclasses
from pathlib import Path

from keras_bert.folders import TOKENIZER_FILE
from keras_bert.interop.configs import write_json
from keras_bert.interop.heads import head_of
from keras_bert.interop.hugging_face_config import FILE, write_config
from keras_bert.interop.rows.bert import BERT
from keras_bert.interop.sentence_transformers import Pooled, write_pooling
from keras_bert.interop.tokenizer_json import write_tokenizer
from keras_bert.interop.vocabularies import Vocabulary, write_definition, write_settings
from keras_bert.models.encoder import config_of
from keras_bert.tasks.base import Task


def write_description(task: Task, folder: Path) -> None:
    """Writes `config.json`, `tokenizer.json` and `tokenizer_config.json`; of an embedding its pooling, too.

    The configuration is that of a BERT of the task's size, whatever the graph is: of all classes with these inputs and
    outputs it is the one that each runtime has, and graphs that no class computes, as of narrow heads or of a
    classifier on the mean, have theirs as well.

    Args:
        task: of a Keras model.
        folder: an existing one.

    Raises:
        ValueError: transformers has no head for the task.
    """
    config, head, tokenizer = config_of(task.model), head_of(task), task.tokenizer
    content = write_config(config, dataclasses.replace(head, pooling="cls"), BERT, tokenizer.pad_id)
    write_json(folder / FILE, content)
    if tokenizer.lowercase is None:
        write_definition(folder, tokenizer.definition(), tokenizer.special, task.max_length)
    else:
        write_settings(folder, Vocabulary(tokenizer.vocabulary, tokenizer.lowercase, task.max_length))
        write_json(folder / TOKENIZER_FILE, write_tokenizer(tokenizer.vocabulary, lowercase=tokenizer.lowercase))
    if head.task == "embedding":
        write_pooling(folder, Pooled(head.pooling, head.normalize, task.max_length), config.hidden_size)
