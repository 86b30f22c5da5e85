"""The folder in transformers.js itself, with nothing to fetch: its pipelines give the answers that are given here."""

import json
import random

import numpy as np
import pytest
from scipy.special import expit, softmax

from keras_bert.compress.quantize import QuantizationAware
from keras_bert.core.folders import WEB_FOLDER
from keras_bert.export.transformers_js import export_transformers_js
from keras_bert.models.encoder import input_names
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.clients.web.node import ask
from tests.keras_bert.export.word_tasks import LENGTH, make_task, make_texts
from tests.keras_bert.tokenizers import subwords

pytestmark = pytest.mark.web

WORDS = ("the", "a", "film", "plot", "great", "dull", "unbelievable", "2000")


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """Exports a task, and tells what its pipeline answers."""
    folders = {}

    def answer_by(task, kind, inputs, options=None, dtype="fp32", ranges=None):
        if id(task) not in folders:
            folders[id(task)] = task, tmp_path_factory.mktemp(task.name)
            export_transformers_js(task, folders[id(task)][1], ranges=ranges)
        given = {"inputs": inputs, "options": options or {}}
        return ask("ask_transformers.mjs", folders[id(task)][1] / WEB_FOLDER, kind, dtype, given=given)

    return answer_by


@pytest.fixture(scope="module")
def classifier():
    return make_task("classification")


@pytest.fixture(scope="module")
def texts(classifier):
    """What fits: of longer texts transformers.js cuts the separator, too."""
    made = [*make_texts(100, 10), "", "   ", "!!!"]
    counts = classifier.count_tokens(made)
    return [text for text, count in zip(made, counts, strict=True) if count <= LENGTH]


@pytest.fixture(scope="module")
def ranges(classifier, texts):
    """Kernels are on grids from here on."""
    encoded = classifier.tokenizer.encode(texts, max_length=LENGTH)
    rows = {name: np.asarray(encoded[name]) for name in input_names(classifier.network())}
    return QuantizationAware(classifier.network(), [rows]).finish()


@pytest.mark.parametrize(("dtype", "tolerance"), [("fp32", 1e-4), ("fp16", 5e-3), ("q8", 0.05), ("int8", 0.1)])
def test_text_classification(answer, classifier, ranges, texts, dtype, tolerance):
    answers = answer(classifier, "text-classification", [texts], {"top_k": 3}, dtype, ranges)
    scores = np.array(
        [
            [
                next(one_answer["score"] for one_answer in one if one_answer["label"] == label)
                for label in classifier.labels
            ]
            for one in answers
        ]
    )
    expected = softmax(list(classifier.outputs(texts)), axis=1)
    np.testing.assert_allclose(scores, expected, atol=tolerance, rtol=0)
    # The likeliest comes first; of two that are as likely as each other either does.
    sure = np.diff(np.sort(expected, axis=1))[:, -1] > 2 * tolerance
    labels = [[one[0]["label"] for one in answers], [one_answer.label for one_answer in classifier.predict(texts)]]
    assert np.array_equal(*(np.array(one_answer)[sure] for one_answer in labels))
    assert len(set(np.array(labels[1])[sure])) > 1, "not one answer to all"


def test_several_labels_have_a_sigmoid_each(answer, texts):
    task = make_task("multi_label")
    answers = answer(task, "text-classification", [texts], {"top_k": 3})
    scores = [{entry["label"]: entry["score"] for entry in entries} for entries in answers]
    expected = expit(list(task.outputs(texts)))
    np.testing.assert_allclose([[row[label] for label in task.labels] for row in scores], expected, atol=1e-4)
    assert np.abs(expected.sum(axis=1) - 1).max() > 0.1, "no softmax"


def test_token_classification(answer):
    task, chance = make_task("token_classification"), random.Random(3)
    sentences = [[chance.choice(WORDS) for _ in range(chance.randint(1, 9))] for _ in range(40)]
    actual_tags = answer(
        task, "token-classification", [[" ".join(one_sentence) for one_sentence in sentences]], {"ignore_labels": []}
    )
    kept = []
    for sentence, pieces in zip(sentences, actual_tags, strict=True):
        sizes = np.asarray(task.tokenizer.tokenize_words(sentence).row_lengths())
        # A word's tag is that of its first piece; the first token of all is not a word's.
        firsts = 1 + np.cumsum(sizes) - sizes
        tags = {piece["index"]: piece["entity"] for piece in pieces}
        assert len(tags) == sizes.sum()
        kept.append([tags[first] for first in firsts])
    expected = task.predict_tags(sentences)
    assert kept == expected
    assert {tag for tags in expected for tag in tags} > {"O"}
    scores = [[piece["score"] for piece in pieces] for pieces in actual_tags]
    logits = list(task.outputs([" ".join(one_sentence) for one_sentence in sentences]))
    for word_scores, row in zip(scores, logits, strict=True):
        shares = softmax(row, axis=-1)
        np.testing.assert_allclose(word_scores, shares.max(axis=-1)[1 : len(word_scores) + 1], atol=1e-4)


def test_question_answering(answer):
    task, chance = make_task("question_answering"), random.Random(4)
    # Of single pieces: transformers.js writes an answer that begins within a word with the pieces' marks.
    contexts = [" ".join(chance.choice(WORDS[:6]) for _ in range(chance.randint(1, 8))) for _ in range(40)]
    questions = [" ".join(chance.choice(WORDS[:6]) for _ in range(chance.randint(1, 5))) for _ in contexts]
    answers = answer(task, "question-answering", [questions, contexts])
    expected = [one_answer.text for one_answer in task.predict(questions, contexts)]
    assert [one_answer["answer"] for one_answer in answers] == expected
    assert expected != contexts


@pytest.mark.parametrize("pieces", ["wordpiece", "bpe", "unigram"])
def test_feature_extraction(answer, texts, pieces):
    custom_tokenizer = None if pieces == "wordpiece" else SubwordTokenizer(json.loads(getattr(subwords, pieces)()))
    task = make_task("embedding", tokenizer=custom_tokenizer)
    texts = texts if custom_tokenizer is None else [*subwords.TEXTS, "", "an old bridge"]
    options = {"pooling": "mean", "normalize": True}
    vectors = np.array(answer(task, "feature-extraction", [texts], options))
    fits = np.array(task.count_tokens(texts)) <= LENGTH
    assert fits.sum() >= 3
    np.testing.assert_allclose(vectors[fits], task.predict(texts)[fits], atol=1e-4)
