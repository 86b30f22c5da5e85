"""Agreement of two models: against SciPy, by hand, and where models read other words or less of a text."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import Classification
from plugins.explain.agreement import compare
from plugins.explain.attention import attentions
from plugins.explain.attribution import attributions
from plugins.explain.explained import ExplainedRow
from tests.keras_bert.interop.checkpoints import CONFIG, PIECES, make_task
from tests.samples import long_but

TEXTS = ["abc d ef g", "g a", "ef ga d", "d d d"]
# Whole words alone: the first letters of a word that it does not hold are one unknown word.
OTHER_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg", "abc")


@pytest.fixture(scope="module")
def teacher(task):
    return task


def random_task(kind, seed):
    from keras_bert.tokenizers.tokenizer import Tokenizer

    task, rng = make_task(kind, tokenizer=Tokenizer(PIECES, True)), np.random.default_rng(seed)
    for weight in task.model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return task


def other_student(teacher, pieces=PIECES, max_length=CONFIG.max_length, **changes):
    config = dataclasses.replace(CONFIG, vocabulary_size=len(pieces), initializer_range=0.5, **changes)
    tokenizer = type(teacher.tokenizer)(pieces, True)
    return Classification.build(build_encoder(config), tokenizer, labels=teacher.labels, max_length=max_length)


@pytest.fixture(scope="module")
def student(teacher):
    student, rng = other_student(teacher, num_layers=1), np.random.default_rng(3)
    for weight in student.model.trainable_weights:
        weight.assign(0.3 * rng.normal(size=weight.shape))
    other = (teacher.labels.index(teacher.predict(TEXTS[:1])[0].label) + 1) % len(teacher.labels)
    student.model.get_layer("classifier").bias.assign(5 * np.eye(len(teacher.labels))[other])
    return student


def test_a_model_agrees_with_itself(teacher):
    agreement = compare(teacher, teacher, TEXTS)
    assert agreement.same_answers.all()
    assert np.isnan(agreement.rank_correlations[1]), "two words"
    np.testing.assert_allclose(agreement.rank_correlations[[0, 2]], 1)
    assert agreement.layers == tuple(range(CONFIG.num_layers))
    np.testing.assert_allclose(agreement.attention_distances, 0, atol=1e-6)
    assert 1 not in agreement.most_different()


def test_reasons_of_two_models(teacher, student):
    agreement = compare(teacher, student, TEXTS, method="integrated_gradients")
    answers = [teacher.predict(TEXTS), student.predict(TEXTS)]
    labels = [[answer.label for answer in one] for one in answers]
    assert agreement.same_answers.tolist() == [one == other for one, other in zip(*labels, strict=True)]
    assert not agreement.same_answers.all()
    for row, text in enumerate(TEXTS):
        explained = [attributions(task, text, labels[0][row]) for task in (teacher, student)]
        for attribution, expected in zip((agreement.teacher[row], agreement.student[row]), explained, strict=True):
            assert attribution.target == labels[0][row], "both explain the teacher's answer"
            np.testing.assert_array_equal(attribution.token_scores, expected.token_scores)
        correlation = stats.spearmanr(*(attribution.by_word() for attribution in explained)).statistic
        if len(explained[0].by_word()) > 2:
            assert agreement.rank_correlations[row] == pytest.approx(correlation)
    order = agreement.most_different(2)
    assert order[0] == np.nanargmin(agreement.rank_correlations)
    assert len(order) == 2


def test_distances_of_attention_by_hand(teacher, student):
    agreement = compare(teacher, student, TEXTS)
    assert agreement.layers == (CONFIG.num_layers - 1,), "the last layers correspond"
    distances = []
    for first, second in zip(attentions(teacher, TEXTS), attentions(student, TEXTS), strict=True):
        rows = []
        for attention in (first.by_word()[-1], second.by_word()[-1]):
            words = attention.mean(axis=0)
            rows.append(np.column_stack([words, 1 - words.sum(axis=1)]))
        distances += [jensenshannon(one, other, base=2) for one, other in zip(*rows, strict=True)]
    assert agreement.attention_distances[0] == pytest.approx(np.mean(distances), abs=1e-6)
    assert 0 < agreement.attention_distances[0] < 1


def test_layers_are_paired_as_they_are_given(teacher, student):
    first = compare(teacher, student, TEXTS, layers=[0])
    assert first.layers == (0,)
    assert first.attention_distances[0] != compare(teacher, student, TEXTS).attention_distances[0]
    for layers in ([0, 1], [CONFIG.num_layers]):
        with pytest.raises(ValueError, match=r"compare\.layers must be 1 of the teacher's layers 0 to 1, got"):
            compare(teacher, student, TEXTS, layers=layers)


@pytest.mark.parametrize(
    "kind", long_but(("regression",), ["token_classification", "regression", "question_answering", "embedding"])
)
def test_every_task(kind, tokenizer):
    task = make_task(kind, tokenizer=tokenizer)
    pairs = {"question_answering": TEXTS[::-1], "embedding": TEXTS[::-1]}.get(kind)
    agreement = compare(task, task, TEXTS, pairs)
    assert len(agreement.teacher) == len(TEXTS)
    np.testing.assert_allclose(agreement.attention_distances, 0, atol=1e-6)
    if kind in ("regression", "embedding"):
        assert agreement.same_answers is None, "numbers differ by more or less"
    else:
        assert agreement.same_answers.all()


def test_a_file_beside_its_model(teacher, tmp_path):
    from keras_bert.export.bundle import attach_companions, load
    from keras_bert.export.onnx import export_onnx

    export_onnx(teacher.network(), tmp_path / "model.onnx")
    attach_companions(teacher, tmp_path / "model.onnx")
    file = load(tmp_path / "model.onnx")
    agreement = compare(teacher, file, TEXTS)
    assert agreement.same_answers.all()
    assert agreement.layers is agreement.attention_distances is None
    assert np.nanmin(agreement.rank_correlations) > 0.99
    with pytest.raises(ValueError, match=r"be occlusion where a model is an exported file, .*gradients for the st"):
        compare(teacher, file, TEXTS, method="integrated_gradients")


def test_refused(teacher):
    with pytest.raises(ValueError, match=r"compare\.student must be for classification, as the teacher, got .reg"):
        compare(teacher, make_task("regression", tokenizer=teacher.tokenizer), TEXTS)
    with pytest.raises(ValueError, match="texts must hold at least one text"):
        compare(teacher, teacher, [])
    with pytest.raises(ValueError, match="pairs"):
        compare(teacher, teacher, TEXTS, TEXTS[1:])


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
        row = first.for_task(student)
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
    ids = np.array([[task.tokenizer.vocabulary.index(token) for token in row.tokens]], "int32")
    batch = {"token_ids": ids, "segment_ids": row.segments[None], "padding_mask": np.ones_like(ids)}
    assert start.score == pytest.approx(task.forward(batch)[0][row.answer[0], 0], abs=1e-5)
    with pytest.raises(ValueError, match=r"target must be one of \[.*\], got '0'"):
        attributions(task, question, "start=0", pair=context)  # a word of the question
    same = compare(task, task, [question], [context])
    assert same.same_answers.all()
    assert same.student[0].row.characters_read(1) == (first, stop)
    np.testing.assert_allclose(same.rank_correlations, 1)


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
    assert numbers.tolist() == [0, 2, 3], "the second text is the third and the fourth word"
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
def test_models_for_pre_training_are_refused_before_they_run(kind, tokenizer):
    task = make_task(kind, tokenizer=tokenizer)
    for call in (lambda: attributions(task, "a b"), lambda: compare(task, task, ["a b"])):
        with pytest.raises(ValueError, match=r"^\w+ must be fine-tuned to be explained, got a model for pretraining$"):
            call()
