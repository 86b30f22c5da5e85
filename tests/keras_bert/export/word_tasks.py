"""Tasks of a real vocabulary, with random weights: small, but with different answers for different texts."""

import random
from typing import Any

import numpy as np

from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.base import Task
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tiny import tiny_config

WORDS = ("film", "great", "dull", "plot", "the", "a", "un", "##believ", "##able", "s", "don", "t", "2", "##0", "0")
PIECES = (*SPECIAL_TOKENS, *WORDS, *".,!?'-()$%")
LENGTH = 32
SETTINGS = {
    "classification": {"labels": ["good", "bad", "neither"], "pooling": "mean"},
    "multi_label": {"labels": ["good", "bad", "neither"], "pooling": "mean", "thresholds": [0.5, 0.4, 0.6]},
    "regression": {"pooling": "cls"},
    "token_classification": {"labels": ["O", "B-film", "I-film"]},
    "question_answering": {"stride": 4, "max_query_length": 8, "null_threshold": None},
    "embedding": {"pooling": "mean", "normalize": True},
}
# Scales of random weights: words count more than positions, and quantization ranges fit, as in trained models.
_SCALES = {"token_embedding": 1.0, "classifier/kernel": 1.0, "kernel": 0.1}
TYPED = ["The", "film", "GREAT", "dull", "plot", "unbelievable", "don't", "2000", "200%", "a-film", "xyzzy", "(s)"]
ENDS = [".", "!", "?", " ...", ", ", "  ", ""]


def make_encoder(tokenizer: BaseTokenizer, num_segments: int = 2, *, pooler: bool = False, **settings: Any):
    sizes = {"vocabulary_size": tokenizer.vocabulary_size, "max_length": LENGTH, "hidden_size": 32}
    config = tiny_config(**sizes, intermediate_size=64, num_segments=num_segments, **settings)
    return build_encoder(config, pooler=pooler)


def make_task(name: str, *, tokenizer: BaseTokenizer | None = None, num_segments: int = 2, **settings: Any) -> Task:
    """A task of `SETTINGS`; without a tokenizer of lowercased word pieces. Settings are those of the encoder."""
    tokenizer = tokenizer or Tokenizer(PIECES, lowercase=True)
    encoder = make_encoder(tokenizer, num_segments, pooler=SETTINGS[name].get("pooling") == "cls", **settings)
    task = TASKS[name].build(encoder, tokenizer, max_length=LENGTH, **SETTINGS[name])
    chance = np.random.default_rng(0)
    for weight in task.model.trainable_weights:
        scale = next((scale for part, scale in _SCALES.items() if part in weight.path), 0.1)
        weight.assign(("gamma" in weight.path) + chance.normal(scale=scale, size=weight.shape))
    if name in ("classification", "multi_label"):
        # No label is that of all texts.
        bias = task.model.get_layer("classifier").bias
        bias.assign(bias - np.mean(list(task.outputs(make_texts(32, 8))), axis=0))
    return task


def make_texts(count: int, words: int) -> list[str]:
    """What people type, and more than is ever seen: texts of up to so many words, with an end mark here and there."""
    chance = random.Random(5)
    return [
        "".join(chance.choice(TYPED) + chance.choice(["", *ENDS]) + " " for _ in range(chance.randint(0, words)))
        for _ in range(count)
    ]
