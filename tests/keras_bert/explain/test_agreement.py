"""Agreement of two models, against SciPy and by hand."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from keras_bert.explain.agreement import compare
from keras_bert.explain.attention import attentions
from keras_bert.explain.attribution import attributions
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import Classification
from tests.keras_bert.explain.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import CONFIG, PIECES, make_task

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer

TEXTS = ["abc d ef g", "g a", "ef ga d", "d d d"]


@pytest.fixture(scope="module")
def teacher():
    return family_task("bert", Tokenizer(PIECES, True))


@pytest.fixture(scope="module")
def student(teacher):
    config = dataclasses.replace(CONFIG, num_layers=1)
    student = Classification.build(
        build_encoder(config), teacher.tokenizer, labels=teacher.labels, max_length=teacher.max_length
    )
    rng = np.random.default_rng(3)
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


@pytest.mark.parametrize("kind", ["token_classification", "regression", "question_answering", "embedding"])
def test_every_task(kind):
    task = make_task(kind, tokenizer=Tokenizer(PIECES, True))
    pairs = {"question_answering": TEXTS[::-1], "embedding": TEXTS[::-1]}.get(kind)
    agreement = compare(task, task, TEXTS, pairs)
    assert len(agreement.teacher) == len(TEXTS)
    np.testing.assert_allclose(agreement.attention_distances, 0, atol=1e-6)


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
