"""The figures of an agreement with rows that are left out and models that read other parts of a text."""

import pytest

from plugins.explain.agreement import compare
from plugins.explain.findings import describe_agreement
from tests.keras_bert.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import PIECES
from tests.plugins.explain.test_agreement import other_student, random_task

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer


def test_rows_that_are_left_out_are_counted_and_the_others_keep_their_texts():
    texts = ["", "a b c d", "", "d d e"]
    agreement = compare(random_task("token_classification", 1), random_task("token_classification", 2), texts)
    report = describe_agreement("student", agreement, texts, None)
    ((reason, count),) = report.left_out.items()
    assert ("must name a word of the text" in reason, count) == (True, 2)
    for row in report.different:
        assert " ".join(row["words"]) == row["text"]


def test_numbers_have_no_share_of_same_answers():
    task = family_task("bert", Tokenizer(PIECES, True), kind="regression")
    assert describe_agreement("student", compare(task, task, ["a b c"]), ["a b c"], None).same_answers is None


def test_words_that_one_model_does_not_read_are_left_out():
    teacher = family_task("bert", Tokenizer(PIECES, True))
    texts = ["abc d ef g abc"]
    report = describe_agreement("student", compare(teacher, other_student(teacher, max_length=8), texts), texts, None)
    assert report.left_out == {}
    for row in report.different:
        assert row["words"] == ["abc", "d", "ef"]
        assert len(row["words"]) == len(row["teacher"]) == len(row["model"])
