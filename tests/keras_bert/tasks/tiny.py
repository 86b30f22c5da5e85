"""A small encoder with a tokenizer, for the tests of tasks."""

from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer

WORDS = "a good bad film very . [x]".split()


def make_tokenizer():
    return PlainTokenizer(WORDS)


def make_encoder(**changes):
    settings = {
        "vocabulary_size": 5 + len(WORDS),
        "max_length": 40,
        "num_layers": 2,
        "hidden_size": 16,
        "num_heads": 2,
        "intermediate_size": 32,
        "dropout": 0.0,
        "initializer_range": 0.2,
    }
    return build_encoder(EncoderConfig(**settings | changes))
