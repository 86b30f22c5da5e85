"""A small encoder with a tokenizer, for the tests of tasks."""

from keras_bert.models.encoder import build_encoder
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer
from tests.keras_bert.tiny import tiny_config

WORDS = "a good bad film very . [x]".split()


def make_tokenizer():
    return PlainTokenizer(WORDS)


def make_encoder(**changes):
    sizes = {"vocabulary_size": 5 + len(WORDS), "max_length": 40, "hidden_size": 16, "intermediate_size": 32}
    return build_encoder(tiny_config(**{**sizes, "dropout": 0.0, "initializer_range": 0.2, **changes}))
