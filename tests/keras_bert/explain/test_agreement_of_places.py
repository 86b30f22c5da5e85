"""Agreement of models whose answers are places, and of models that read other words or less of a text."""

import dataclasses

import numpy as np
import pytest

from keras_bert.explain.agreement import compare
from keras_bert.explain.attribution import attributions
from keras_bert.explain.explained import ExplainedRow
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import Classification
from tests.keras_bert.explain.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import CONFIG, PIECES, make_task

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer

# Whole words alone: the first letters of a word that it does not hold are one unknown word.
OTHER_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg", "abc")


def random_task(kind, seed):
    task, rng = make_task(kind, tokenizer=Tokenizer(PIECES, True)), np.random.default_rng(seed)
    for weight in task.model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return task


def test_tags_are_the_same_at_the_same_word_alone():
    teacher, text = random_task("token_classification", 1), "d d d d"
    expected, same, names = ExplainedRow.of(teacher, text), [], []
    for seed in range(2, 7):
        student = random_task("token_classification", seed)
        choice = ExplainedRow.of(student, text)
        agreement = compare(teacher, student, [text])
        same.append(choice.target.choice == expected.target.choice)
        names.append(choice.target.name == expected.target.name)
        assert agreement.same_answers.tolist() == same[-1:]
        word, tag = expected.target.choice.split("=")
        logits = student.forward(student.encode([text]))[0]
        assert agreement.student[0].score == pytest.approx(logits[int(word) + 1, student.labels.index(tag)], abs=1e-5)
    assert same != names, "a tag of another word has the same name"


def test_answers_are_the_same_with_start_and_end_and_both_explain_the_teachers():
    teacher, question, context = random_task("question_answering", 1), "ab", "d abc d d c d"
    expected = teacher.predict([question], [context])[0]
    same = []
    for seed in range(2, 6):
        student = random_task("question_answering", seed)
        answer = student.predict([question], [context])[0]
        agreement = compare(teacher, student, [question], [context])
        same.append((answer.start, answer.end) == (expected.start, expected.end))
        assert agreement.same_answers.tolist() == same[-1:]
        first, second = ExplainedRow.of(teacher, question, pair=context), agreement.student[0]
        row = first.beside(student)
        assert row.target.choice == first.target.choice
        place = np.flatnonzero(row.tokens.words == int(row.target.choice.split("=")[1]))
        starts = student.forward(student.encode([question], [context]))[0][place, 0]
        assert second.score == pytest.approx(starts.max(), abs=1e-5)
    assert not all(same)


def test_an_answer_is_explained_in_the_window_that_it_comes_from():
    task, question, context = random_task("question_answering", 3), "a b c d e f g a b c", "abc d ef g " * 12
    task.null_threshold = None
    answer = task.predict([question], [context])[0]
    start, end = (attributions(task, question, side, pair=context, method="occlusion") for side in ("start", "end"))
    row = start.row
    assert (row.offsets[row.answer[0], 0], row.offsets[row.answer[1], 1]) == (answer.start, answer.end)
    assert (row.segments[1:-1] == 0).sum() == task.max_query_length + 1, "the question is cut as predict cuts it"
    assert row.dropped[0] == 10 - task.max_query_length
    first, stop = row.characters_read(1)
    assert first <= answer.start < answer.end <= stop
    assert start.row.word_texts[int(row.words[row.answer[0]])] in start.target
    assert end.target.startswith("end at")
    assert start.score == pytest.approx(_logit_of_start(task, row), abs=1e-5)
    with pytest.raises(ValueError, match=r"target must be one of \[.*\], got '0'"):
        attributions(task, question, "start=0", pair=context)  # a word of the question
    same = compare(task, task, [question], [context])
    assert same.same_answers.all()
    assert same.student[0].row.characters_read(1) == (first, stop)
    np.testing.assert_allclose(same.rank_correlations, 1)


def _logit_of_start(task, row):
    ids = np.array([[task.tokenizer.vocabulary.index(token) for token in row.tokens]], "int32")
    batch = {"token_ids": ids, "segment_ids": row.segments[None], "padding_mask": np.ones_like(ids)}
    return task.forward(batch)[0][row.answer[0], 0]


@pytest.fixture(scope="module")
def teacher():
    return family_task("bert", Tokenizer(PIECES, True))


def other_student(teacher, pieces=PIECES, max_length=CONFIG.max_length):
    tokenizer = Tokenizer(pieces, True)
    config = dataclasses.replace(CONFIG, vocabulary_size=len(pieces), initializer_range=0.5)
    return Classification.build(build_encoder(config), tokenizer, labels=teacher.labels, max_length=max_length)


def test_words_are_compared_where_both_models_read_them(teacher):
    text = "abc d ef g abc d ef g abc d"
    for student in (other_student(teacher, OTHER_PIECES), other_student(teacher, max_length=12)):
        agreement = compare(teacher, student, [text])
        first, second = agreement.teacher[0], agreement.student[0]
        assert first.row.word_texts != second.row.word_texts or first.row.words.tolist() != second.row.words.tolist()
        numbers, others = first.row.common_words(second.row)
        assert [first.row.word_texts[number] for number in numbers] == [second.row.word_texts[word] for word in others]
        assert len(numbers) >= 3
        assert -1 <= agreement.rank_correlations[0] <= 1
        assert np.isfinite(agreement.attention_distances).all()


def test_common_words_start_at_the_same_place_of_the_same_text(teacher):
    long = ExplainedRow.of(teacher, "a b", pair="a b").tokens
    short = other_student(teacher, max_length=6)
    numbers, others = long.common_words(ExplainedRow.of(short, "a b", pair="a b").tokens)
    assert numbers.tolist() == [0, 2] or numbers.tolist() == [0, 1, 2], "the second text is the third word"
    assert others.tolist() == list(range(len(numbers)))


def test_rows_that_cannot_be_explained_are_left_out_and_counted():
    tagger = random_task("token_classification", 1)
    agreement = compare(tagger, random_task("token_classification", 2), ["a b c", "", "d e f"])
    assert agreement.rows.tolist() == [0, 2]
    assert list(agreement.left_out) == [1]
    assert "must name a word of the text, which has none" in agreement.left_out[1]
    assert len(agreement.teacher) == len(agreement.same_answers) == len(agreement.rank_correlations) == 2
    answering = random_task("question_answering", 1)
    agreement = compare(answering, random_task("question_answering", 2), ["ab", "ab"], ["", "a b c d"])
    assert (agreement.rows.tolist(), list(agreement.left_out)) == ([1], [0])
    with pytest.raises(ValueError, match=r"compare\.texts must hold a row that both models can explain; .*none of 1"):
        compare(tagger, tagger, [""])


@pytest.mark.parametrize("kind", ["pretraining", "masked_tokens"])
def test_models_for_pre_training_are_refused_before_they_run(kind):
    task = make_task(kind, tokenizer=Tokenizer(PIECES, True))
    for call in (lambda: attributions(task, "a b"), lambda: compare(task, task, ["a b"])):
        with pytest.raises(ValueError, match=r"^\w+ must be fine-tuned to be explained, got a model for pretraining$"):
            call()
