"""Tags, counted by hand."""

import types

import pytest

from components.scoring.token_classification import LOOKUP, TaggedScoring
from components.sources.tagged_words import Sentence
from keras_bert.tasks.entities import Entity

SCORING = TaggedScoring()
BIO = ["B-org", "B-per", "I-org", "I-per", "O"]


def sentences(*tags, words="a b c d"):
    return [Sentence(tuple(words.split()[: len(sentence.split())]), tuple(sentence.split())) for sentence in tags]


def test_entities_are_counted_whole():
    scores = SCORING.score(
        sentences("B-per I-per O B-org", "O B-per"), [["B-per", "O", "O", "B-org"], ["O", "B-per"]], BIO
    )
    assert scores.metrics == pytest.approx({"f1": 2 / 3, "precision": 2 / 3, "recall": 2 / 3})
    assert scores.report["per"] == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2})
    assert scores.report["org"]["f1"] == 1.0
    assert scores.confusion is None


def test_parts_of_speech_are_scored_by_words_and_an_unknown_o_is_wrong():
    scores = SCORING.score(sentences("NOUN VERB", "NOUN"), [["NOUN", "O"], ["NOUN"]], ["NOUN", "VERB"])
    # Two labels have no Matthews correlation here: nobody reports it of tags.
    assert scores.metrics == pytest.approx({"accuracy": 2 / 3, "macro_f1": 0.5})
    assert scores.report["VERB"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}


def test_the_baseline_is_the_commonest_tag_of_each_word_and_of_all():
    train = sentences("B-per O O O", "O O", "B-per", words="Ann ran to Rome") + sentences("B-org", words="Rome")
    test = sentences("O O O O", words="Ann Rome flew to")
    baselines = SCORING.baselines(train, [], test)[LOOKUP]()
    # `Rome` is O and B-org once each: the first that came.
    assert baselines == [["B-per", "O", "O", "O"]]


def test_the_commonest_tag_is_trivial_and_finds_no_entity():
    train, test = sentences("B-per O O"), sentences("B-per O", "O")
    name, answers = SCORING.trivial(train, test)
    assert (name, answers) == ("most frequent tag", [["O", "O"], ["O"]])
    assert SCORING.score(test, answers, BIO).metrics == {"f1": 0.0, "precision": 0.0, "recall": 0.0}


def test_a_task_is_asked_for_the_tags_of_words(monkeypatch):
    task = types.SimpleNamespace(predict_tags=lambda words: [["O"] * len(sentence) for sentence in words])
    monkeypatch.setattr("keras_bert.tasks.token_classification.TokenClassification", types.SimpleNamespace)
    assert SCORING.answer(task, sentences("O O", "O")) == [["O", "O"], ["O"]]


def test_the_entities_of_texts_are_scored_beside_those_of_words(monkeypatch):
    """Of `u.s.`, `predict` gave the entity `u.`: only the tags of words were scored, and all were right."""
    rows = sentences("O B-org O", "B-per I-per", words="the u.s. a") + sentences("B-per I-per", words="Jo Day")
    task = types.SimpleNamespace(
        predicts_records=True,
        predict=lambda texts: [
            [Entity("org", "u.", 4, 6, 0.9)],
            [Entity("per", "the u.s.", 0, 8, 0.9)],
            [Entity("per", "Jo", 0, 2, 0.9), Entity("per", "Day", 3, 6, 0.9)],
        ],
    )
    monkeypatch.setattr("keras_bert.tasks.token_classification.TokenClassification", types.SimpleNamespace)
    (answers,) = SCORING.variants(task, rows, []).values()
    assert answers == [["O", "B-part of org", "O"], ["B-per", "I-per"], ["B-per", "B-per"]]
    scores = SCORING.score(rows, answers, BIO).metrics
    assert scores == pytest.approx({"f1": 2 / 7, "precision": 1 / 4, "recall": 1 / 3})
    task.predicts_records = False
    assert SCORING.variants(task, rows, []) == {}
