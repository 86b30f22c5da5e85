"""A tokenizer and tasks that the tests of explanations share; no test changes them."""

import dataclasses

import pytest

from tests.keras_bert.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import CONFIG, PIECES, make_task


@pytest.fixture(scope="session")
def tokenizer():
    pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
    from keras_bert.tokenizers.tokenizer import Tokenizer

    return Tokenizer(PIECES, True)


@pytest.fixture(scope="module")
def task(tokenizer):
    """A classifier with small scores."""
    return family_task("bert", tokenizer)


@pytest.fixture(scope="module")
def classifier(tokenizer):
    """A classifier whose heads differ much."""
    return make_task("classification", CONFIG, tokenizer)


@pytest.fixture
def roomy_task(tokenizer):
    """A classifier whose encoder has room for a prompt; each test has one of its own."""
    task = make_task("classification", dataclasses.replace(CONFIG, max_length=40), tokenizer)
    task.max_length = CONFIG.max_length
    return task
