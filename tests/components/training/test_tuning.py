"""Class weights and tasks: what is taken, and what is refused."""

import numpy as np
import pytest

from components.dsl.canonical import canonical
from components.dsl.errors import InputError
from components.training.tuning import HeadSettings, build_task, find_class_weights
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.token_classification import TokenClassification
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

COUNTS = {"train": {"B-x": 1, "O": 5}, "validation": {"I-x": 9}, "test": {"B-x": 7}}
FEATURES = {"task": "token_classification", "labels": COUNTS, "rows": {"train": 20}}
LABELS = ["B-x", "I-x", "O"]


def test_balanced_weights_follow_the_counts_of_training_alone():
    assert find_class_weights(FEATURES, LABELS, "balanced") == (6 / 2, 1.0, 6 / 10)


def test_a_table_names_some_labels_and_the_others_weigh_one():
    assert find_class_weights(FEATURES, LABELS, {"O": 0.25}) == (1.0, 1.0, 0.25)
    assert find_class_weights(FEATURES, LABELS, "none") is None


def test_equal_weights_have_one_key():
    assert canonical({"b": 1.0, "a": 2.0}) == canonical({"a": 2.0, "b": 1.0})


def build(task, pooler=True, **settings):
    tokenizer = Tokenizer([*SPECIAL_TOKENS, "a"], lowercase=True)
    shape = {"num_layers": 1, "hidden_size": 4, "num_heads": 1, "intermediate_size": 4, "max_length": 8}
    encoder = build_encoder(EncoderConfig(vocabulary_size=tokenizer.vocabulary_size, **shape), pooler=pooler)
    description = {"task": task, "settings": {"max_length": 8, **settings}}
    return build_task(Embedding.build(encoder, tokenizer, max_length=8), description, HeadSettings("cls"))


def test_the_pooling_is_that_of_the_checkpoint_or_the_mean():
    tokenizer = Tokenizer([*SPECIAL_TOKENS, "a"], lowercase=True)
    shape = {"num_layers": 1, "hidden_size": 4, "num_heads": 1, "intermediate_size": 4, "max_length": 8}
    encoder = build_encoder(EncoderConfig(vocabulary_size=tokenizer.vocabulary_size, **shape))
    description = {"task": "regression", "settings": {"max_length": 8}}
    first_token = Embedding.build(encoder, tokenizer, max_length=8, pooling="cls", normalize=False)
    no_pooling = TokenClassification.build(encoder, tokenizer, labels=["O", "I-x"], max_length=8)
    poolings = [build_task(task, description).head()["pooling"] for task in (first_token, no_pooling)]
    assert poolings == ["cls", "mean"]
    vectors = build_task(first_token, {**description, "task": "retrieval"})
    assert (vectors.head(), vectors.settings()["normalize"]) == ({"pooling": "cls"}, False)


@pytest.mark.parametrize(
    ("task", "settings", "head"),
    [
        ("classification", {"labels": ["a", "b"]}, {"pooling": "cls"}),
        ("multi_label", {"labels": ["a", "b"], "label_precision": 0.5}, {"pooling": "cls"}),
        ("regression", {}, {"pooling": "cls", "mean": 0.0, "standard_deviation": 1.0}),
        ("embedding", {}, {"pooling": "cls"}),
        ("token_classification", {"labels": LABELS}, {}),
        ("question_answering", {"stride": 1, "max_query_length": 1, "null_threshold": None}, {}),
    ],
)
def test_every_task_is_built_of_what_its_examples_say(task, settings, head):
    restored = build(task, **settings)
    assert restored.name == task
    assert {**restored.settings(), "max_length": 8} == {**restored.settings(), **settings}
    assert restored.head() == head


def test_a_new_head_of_numbers_answers_their_mean():
    task = build("regression", mean=5200.0, standard_deviation=1800.0)
    task.model.get_layer("regressor").kernel.assign(np.zeros((4, 1)))
    assert task.predict(["a", "a a"]) == [5200.0, 5200.0]


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        (
            *("classification", {"labels": ["a", "b"], "pooler": False}),
            "the encoder cannot learn classification from these rows: encoder must have a pooler, got one without; "
            "pooling by the mean needs none",
        ),
        (
            *("regression", {"max_length": 9}),
            "the encoder cannot learn regression from these rows: Regression.max_length must be between 3 and the "
            "model's 8 positions, got 9",
        ),
    ],
)
def test_an_encoder_that_does_not_fit_the_rows(task, settings, message):
    with pytest.raises(InputError) as error:
        build(task, **settings)
    assert str(error.value) == message
