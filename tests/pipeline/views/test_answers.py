"""Answers of each task, to the letter, and the lines about texts that were cut."""

import json

import pytest

from components.dsl.errors import InputError
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.regression import Regression
from pipeline.views.answers import answer_lines, note_lines
from tests.components.answers.table_models import classification, embedding, questions, tagger
from tests.pipeline.table_tasks import make_task

# 1 / (1 + e^-2) and 1 / (1 + e^-1) of two labels, 1 / (1 + 2 e^-2) of three.
TWO, ONE, TWO_OF_THREE = "0.8808", "0.7311", "0.7870"


def answers(task, *texts, second=None):
    return [line.split("\t") for line in answer_lines(task, texts, second)]


def test_a_label_with_its_probability():
    assert answers(classification(), "the cow", "Oak!") == [["animal", TWO, "the cow"], ["plant", ONE, "Oak!"]]
    both = answers(classification(), "the", "the", second=["cow", "oak"])
    assert both == [["animal", TWO, "the", "cow"], ["plant", ONE, "the", "oak"]], (
        "the second text of a pair counts, too"
    )


def test_a_tab_or_a_control_character_shifts_no_field():
    labels = ["ani\tmal", "plant"]
    task = make_task(Classification, {"cow": [2, 0], "oak": [0, 1]}, labels=labels, max_length=16)
    assert answers(task, "the\tcow\n\x1b[2J") == [["ani\\tmal", TWO, "the\\tcow\\n\\x1b[2J"]]
    assert answers(task, "the", second=["a\tcow"]) == [["ani\\tmal", TWO, "the", "a\\tcow"]]
    assert answers(embedding(), "cow\t", second=["cow"]) == [["1.0000", "cow\\t", "cow"]]
    assert answers(tagger("O", "B-x", "B-y"), "the\toak") == [["(no entity)", "", "", "the\\toak"]]


def test_a_label_below_the_threshold_is_not_sure():
    task = classification()
    task.calibration = Calibration(2.0, 0.7)
    # 1 / (1 + e^-1) and 1 / (1 + e^-0.5): half of the logits.
    assert answers(task, "the cow", "Oak!") == [["animal", ONE, "the cow"], ["not sure (plant)", "0.6225", "Oak!"]]


def test_an_entity_below_the_threshold_is_not_sure():
    task = tagger("O", "B-animal", "I-animal")
    task.calibration = Calibration(1.0, 0.8)
    assert answers(task, "the cow") == [["not sure (animal)", TWO_OF_THREE, "4:7", "cow"]]
    task.calibration = Calibration(1.0, 0.7)
    assert answers(task, "the cow") == [["animal", TWO_OF_THREE, "4:7", "cow"]]


def test_a_number():
    task = make_task(Regression, {"cow": [1.5], "oak": [-0.25]})
    assert answers(task, "cow cow", "the oak") == [["3.0000", "cow cow"], ["-0.2500", "the oak"]]
    assert answers(task, "cow", second=["oak"]) == [["1.2500", "cow", "oak"]]


def test_a_vector_or_how_alike_two_texts_are():
    (line,) = answer_lines(embedding(), ["oak"], None)
    assert json.loads(line) == [0.333333, -2.0]
    assert answers(embedding(), "cow", "cow hen", second=["hen", "cow"]) == [
        ["0.0000", "cow", "hen"],
        ["0.6000", "cow hen", "cow"],
    ]


def test_entities_with_their_places():
    task = tagger("O", "B-animal", "I-animal")
    assert answers(task, "the cow  hen the cow", "the oak") == [
        ["animal", TWO_OF_THREE, "4:12", "cow  hen"],
        ["animal", TWO_OF_THREE, "17:20", "cow"],
        ["(no entity)", "", "", "the oak"],
    ]


def test_tags_that_mark_no_entities_stand_beside_their_words():
    lines = list(answer_lines(tagger("DET", "NOUN", "VERB"), ["the  cow", "Hen the"], None))
    assert lines == ["the/DET cow/NOUN", "Hen/VERB the/DET"]


def test_an_answer_with_its_place_or_none():
    answer, nothing = answers(questions(), "the ?", "the ?", second=["the cow the hen", "the oak"])
    assert (answer[0], answer[2]) == ("cow the hen", "4:15")
    assert float(answer[1]) > 0.99
    assert (nothing[0], nothing[2]) == ("(no answer)", "0:0")


def test_second_texts_are_asked_for_and_refused():
    with pytest.raises(InputError, match=r"^--second must give the context of each question, got none$"):
        answers(questions(), "the ?")
    with pytest.raises(InputError, match=r"^--second must be left out: the model takes single texts$"):
        answers(tagger("O", "B-animal", "I-animal"), "the cow", second=["the hen"])


@pytest.mark.parametrize("make", [classification, embedding, questions])
def test_each_text_has_its_second(make):
    with pytest.raises(InputError, match=r"^--second must be given once for each TEXT \(2\), got 1$"):
        answers(make(), "the", "cow", second=["hen"])


def test_a_model_takes_what_it_was_trained_on():
    task = classification()
    task.pairs = False
    with pytest.raises(InputError, match=r"^--second must be left out: the model takes single texts$"):
        answers(task, "the", second=["cow"])
    assert len(answers(task, "the")) == 1
    task.pairs = True
    with pytest.raises(InputError, match=r"^--second must give the second text of each pair, got none$"):
        answers(task, "the")
    assert len(answers(task, "the", second=["cow"])) == 1


def test_texts_without_pieces_are_told_of():
    lines = list(note_lines(classification(), ["cow", "", " \u200b"], ["the", "the", ""]))
    assert [line.partition(" is empty")[0] for line in lines] == ["text 2", "text 3", "second text 3"]
    assert list(note_lines(classification(), ["cow"], None)) == []


def test_texts_that_were_cut_are_told_of():
    texts, seconds = ["cow", "the cow the hen", "the cow the hen the"], ["the", "the", "the cow"]
    assert list(note_lines(classification(max_length=6), texts, None)) == [
        "text 3: 1 of 7 tokens were cut, the model reads 6"
    ]
    # A pair has one more special token, and loses tokens as one text does.
    assert list(note_lines(classification(max_length=6), texts, seconds)) == [
        "text 2: 2 of 8 tokens were cut, the model reads 6",
        "text 3: 4 of 10 tokens were cut, the model reads 6",
    ]


def test_each_side_has_a_vector_of_its_own():
    texts, long = ["cow", "the cow"], ["the cow the hen the", "the"]
    assert list(note_lines(embedding(6), texts, None)) == []
    expected = ["text 1: 1 of 7 tokens were cut, the model reads 6"]
    assert list(note_lines(embedding(6), texts, long)) == list(note_lines(embedding(6), long, texts)) == expected


def test_what_is_read_in_several_rows_is_not_cut():
    long = "the cow " * 40
    assert list(note_lines(tagger("O", "B-animal", "I-animal"), [long], None)) == []
    assert list(note_lines(questions(), ["the ?"], [long])) == []
    assert len(answers(tagger("O", "B-animal", "I-animal"), long)) == 40, "and every entity is found"
