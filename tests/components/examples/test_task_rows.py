"""The records hold what the tasks make of the same rows."""

from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.examples.records import serialize_numbers, serialize_questions, serialize_sentences
from components.sources.questions import Question
from components.sources.table import TextRow
from components.sources.tagged_words import Sentence
from keras_bert.config import EncoderConfig
from keras_bert.losses import IGNORED
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.token_classification import TokenClassification
from keras_bert.tokenizers.tokenizer import SPECIAL_TOKENS, Tokenizer

TOKENIZER = Tokenizer([*SPECIAL_TOKENS, "a", "b", "c", "##a", "##b"], lowercase=True)
TEXTS = ["a ba c", "c", "ab \u200d abab c c c a", "b b b b b b b b b b b b"]


@pytest.fixture(scope="module")
def encoder():
    shape = {"num_layers": 1, "hidden_size": 4, "num_heads": 1, "intermediate_size": 4, "max_length": 12}
    keras.utils.set_random_seed(0)
    return build_encoder(EncoderConfig(vocabulary_size=TOKENIZER.vocabulary_size, **shape))


def stack(records, name, filling=0):
    """The values of a feature of all records, padded to the longest."""
    features = [tf.train.Example.FromString(record).features.feature[name] for record in records]
    rows = [getattr(feature, feature.WhichOneof("kind")).value for feature in features]
    width = max(map(len, rows))
    return np.array([[*row, *[filling] * (width - len(row))] for row in rows])


def assert_same_inputs(records, features):
    for name in ("token_ids", "segment_ids"):
        np.testing.assert_array_equal(stack(records, name), features[name])


def test_sentences(encoder):
    sentences = [Sentence(tuple(text.split()), ("B-x", "I-x", "O")[: len(text.split())]) for text in TEXTS[:2]]
    sentences += [Sentence(words := tuple(text.split()), ("O",) * len(words)) for text in TEXTS[2:]]
    labels = ["B-x", "I-x", "O"]
    records = list(serialize_sentences(sentences, labels, TOKENIZER, 8))
    task = TokenClassification.build(encoder, TOKENIZER, labels=labels, max_length=8)
    features, expected = task.examples(*zip(*sentences, strict=True))
    assert_same_inputs(records, features)
    np.testing.assert_array_equal(stack(records, "label", IGNORED), expected)
    assert stack(records, "row")[:, 0].tolist() == [0, 1, 2, 2, 3, 3]


def test_questions(encoder):
    answers = [(("ba", 2), ("c", 5)), (), (("abab c", 5),), (("b b", 2),)]
    pairs = enumerate(zip(TEXTS, answers, strict=True))
    questions = [Question(str(row), "a b c a", text, own) for row, (text, own) in pairs]
    sizes = {"max_length": 12, "stride": 3, "max_query_length": 3}
    records = list(serialize_questions(questions, TOKENIZER, **sizes))
    task = QuestionAnswering.build(encoder, TOKENIZER, max_answer_length=4, **sizes)
    firsts = [question.answers[0] if question.answers else None for question in questions]
    features, positions = task.examples([each.question for each in questions], TEXTS, firsts)
    assert_same_inputs(records, features)
    np.testing.assert_array_equal(stack(records, "positions"), positions)
    assert stack(records, "row")[:, 0].tolist() == sorted(stack(records, "row")[:, 0].tolist())


def test_numbers(encoder):
    rows = [TextRow(text, str(number / 3), "b") for number, text in enumerate(TEXTS)]
    cut = Counter()
    records = list(serialize_numbers(rows, TOKENIZER, 12, cut))
    task = Regression.build(encoder, TOKENIZER, max_length=12)
    features, values = task.examples(TEXTS, [float(row.label) for row in rows], ["b"] * 4)
    assert_same_inputs(records, features)
    np.testing.assert_array_equal(stack(records, "value").astype("float32"), values)
    assert cut == {False: 2, True: 2}
