"""The start of a new head: the optimum on frozen vectors, where it is better than constant answers."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression, Ridge

import keras_bert
from keras_bert.core.losses import IGNORED
from keras_bert.data.array_batches import ArrayRows
from keras_bert.in_memory.fit import read_rows
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.multi_label import MultiLabelClassification
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.token_classification import TokenClassification
from keras_bert.training.linear_model import fit_linear
from keras_bert.training.new_head import HeadRows, _fit_with_penalty, draw_head, fit_head, has_drawn_head
from keras_bert.training.trainer import NonFiniteLossError
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

pytestmark = pytest.mark.usefixtures("eager")

QUICK = {"batch_size": 8, "xla": "off", "precision": "float32", "verbose": 0, "epochs": 1}
CHANCE = np.random.default_rng(0)
VECTORS = CHANCE.normal(size=(80, 6)) * [5, 1, 1, 0.1, 1, 1] + 3
SCORES = (VECTORS - VECTORS.mean(axis=0)) @ CHANCE.normal(size=(6, 3)) + CHANCE.normal(size=(80, 3)) * 3
TEXTS = [" ".join(CHANCE.choice(("good", "bad", "film", "very", "a"), 5)) for _ in range(60)]
LABELS = ["yes" if "good" in text else "no" for text in TEXTS]


def probabilities(link, kernel, bias):
    return {"softmax": lambda x: softmax(x, axis=1), "sigmoid": expit, "identity": lambda x: x}[link](
        VECTORS @ kernel + bias
    )


def test_softmax_is_that_of_scikit_learn():
    labels, row_weights = SCORES.argmax(axis=1), CHANCE.uniform(0.5, 2, 80)
    model = fit_linear(VECTORS, np.eye(3)[labels], row_weights[:, None], 0.3, "softmax")
    other = LogisticRegression(C=1 / 0.3, tol=1e-10, max_iter=10_000).fit(VECTORS, labels, row_weights)
    np.testing.assert_allclose(probabilities("softmax", *vars(model).values()), other.predict_proba(VECTORS), atol=1e-5)


def test_sigmoids_are_those_of_scikit_learn():
    flags = SCORES.mean(axis=0) < SCORES
    weights = np.where(flags, [1.0, 2.0, 3.0], 1.0)
    model = fit_linear(VECTORS, flags.astype("float64"), weights, 2.0, "sigmoid")
    for number in range(3):
        one = LogisticRegression(C=1 / 2, tol=1e-10, max_iter=10_000)
        one.fit(VECTORS, flags[:, number], weights[:, number])
        expected = one.predict_proba(VECTORS)[:, 1]
        actual = probabilities("sigmoid", *vars(model).values())[:, number]
        np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_numbers_are_those_of_a_ridge_regression_from_any_start():
    start = fit_linear(VECTORS, SCORES + 1, np.ones((80, 1)), 7.0, "identity")
    for first in (None, start):
        model = fit_linear(VECTORS, SCORES, np.ones((80, 1)), 0.5, "identity", first)
        other = Ridge(alpha=0.5).fit(VECTORS, SCORES)
        np.testing.assert_allclose(model.kernel, other.coef_.T, atol=1e-5)
        np.testing.assert_allclose(model.bias, other.intercept_, atol=1e-5)


def fit(task, *columns, teacher=None, **options):
    rows = ArrayRows(task.name, read_rows(task, columns), task.max_length)
    return fit_head(task, rows.training_batches(16, seed=0), teacher=teacher, **options)


def classifier(labels=("no", "yes")):
    keras.utils.set_random_seed(1)
    return Classification.build(make_encoder(), make_tokenizer(), labels=labels, max_length=8, pooling="mean")


def kernel_of(task):
    return task.model.layers[-1].kernel.numpy()


def test_a_head_starts_where_it_answers_best():
    task = classifier(("no", "yes", "never"))
    fitted = fit(task, TEXTS, LABELS)
    assert fitted is not None
    assert (fitted.rows, fitted.gain > 0.3) == (60, True)
    assert keras_bert.evaluate(task, TEXTS, LABELS)["accuracy"] > 0.9
    # A label of no row has a finite logit.
    assert np.isfinite(task.model.layers[-1].bias.numpy()).all()
    layer = task.model.layers[-1]
    np.testing.assert_array_equal(fitted.weights[layer.kernel.path], layer.kernel.numpy())


def test_labels_that_vectors_say_nothing_about_keep_the_random_head():
    task, labels = classifier(), list(CHANCE.choice(["no", "yes"], 60))
    before = kernel_of(task)
    fitted = fit(task, TEXTS, labels)
    assert fitted is not None
    assert fitted.gain < 0.15
    np.testing.assert_array_equal(kernel_of(task), before)
    fit(task, TEXTS, labels, how="fitted")
    assert not np.array_equal(kernel_of(task), before)
    assert fit(task, TEXTS, labels, how="random") is None


def test_a_head_that_stays_random_has_the_frequencies_but_of_more_than_two_classes():
    labels = list(CHANCE.permutation(["no"] * 45 + ["yes"] * 15))
    task = classifier()
    fit(task, TEXTS, labels)
    bias = task.model.layers[-1].bias.numpy()
    np.testing.assert_allclose(bias[1] - bias[0], np.log(15.5 / 45.5), rtol=1e-5)
    fit(task, TEXTS, labels, class_weights=[1.0, 3.0])
    assert np.ptp(task.model.layers[-1].bias) == pytest.approx(0, abs=1e-6)
    more = classifier(("no", "yes", "never"))
    fit(more, TEXTS, labels)
    assert not more.model.layers[-1].bias.numpy().any()
    several = MultiLabelClassification.build(make_encoder(), make_tokenizer(), labels=["a", "b"], max_length=8)
    fit(several, TEXTS, [["a"] if label == "no" else [] for label in labels])
    expected = [np.log(45.5 / 15.5), np.log(0.5 / 60.5)]
    np.testing.assert_allclose(several.model.layers[-1].bias, expected, rtol=1e-5)


def test_labels_in_directions_of_little_variance_are_found():
    chance, size = np.random.default_rng(1), 1 / np.arange(1, 129)
    vectors = chance.normal(size=(250, 128)) * size
    scores = vectors[:, 20:25] / size[20:25] @ chance.normal(size=(5, 2)) * 2
    labels = (scores + chance.gumbel(size=(250, 2))).argmax(axis=1)
    rows = HeadRows(vectors, np.eye(2)[labels], np.ones((250, 1)))
    _, loss, first_loss = _fit_with_penalty(rows, np.arange(250) % 5, "softmax", None)
    assert loss < 0.85 * first_loss


def test_few_rows_keep_the_random_head():
    task = classifier()
    assert fit(task, TEXTS[:9], LABELS[:9]) is None
    with pytest.raises(
        ValueError, match=r"^fit\.start_head must be 'auto' or 'random' for fewer than 10 rows, got 'fi"
    ):
        task.fit(TEXTS[:9], LABELS[:9], start_head="fitted", **QUICK)
    with pytest.raises(ValueError, match=r"^fit\.start_head must be one of \('auto', 'fitted', 'random'\), got 'zero'"):
        task.fit(TEXTS, LABELS, start_head="zero", **QUICK)
    search = Embedding.build(make_encoder(), make_tokenizer(), max_length=8)
    with pytest.raises(ValueError, match=r"^fit\.start_head must be 'auto' or 'random' for embedding, whose head"):
        search.fit(TEXTS, TEXTS, list(CHANCE.uniform(size=60)), start_head="fitted", **QUICK)


def test_several_labels_numbers_and_tags_start_likewise():
    counts = [text.count("good") * 1000.0 + 5000 for text in TEXTS]
    several = [[name for name in ("good", "bad") if name in text] for text in TEXTS]
    words = [text.split() for text in TEXTS]
    tags = [["B-x" if word == "good" else "O" for word in sentence] for sentence in words]
    encoder, tokenizer = make_encoder(), make_tokenizer()
    flagged = MultiLabelClassification.build(encoder, tokenizer, labels=["bad", "good"], max_length=8, pooling="mean")
    numbers = Regression.build(encoder, tokenizer, max_length=8, pooling="mean")
    tagger = TokenClassification.build(encoder, tokenizer, labels=["B-x", "O"], max_length=8)
    numbers.start_scale(np.array(counts))
    for task, columns in ((flagged, (TEXTS, several)), (numbers, (TEXTS, counts)), (tagger, (words, tags))):
        fitted = fit(task, *columns)
        assert fitted is not None
        assert fitted.gain > 0.3
    assert keras_bert.evaluate(flagged, TEXTS, several)["micro_f1"] > 0.9
    assert keras_bert.evaluate(numbers, TEXTS, counts)["absolute_error"] < 200
    assert keras_bert.evaluate(tagger, words, tags)["accuracy"] > 0.95
    assert IGNORED == -1


def test_class_weights_and_answers_count():
    weighted, answered = classifier(), classifier()
    fit(weighted, TEXTS, LABELS, how="fitted", class_weights=[1.0, 50.0])
    plain = classifier()
    fit(plain, TEXTS, LABELS, how="fitted")
    share = [np.mean(np.stack(list(task.outputs(TEXTS))) @ [-1, 1]) for task in (weighted, plain)]
    assert share[0] > share[1] + 0.5
    # Answers stand in the place of labels, but where a row has none.
    answers = np.array([[0.2, 0.8]] * 30 + [[np.nan, np.nan]] * 30)
    answered.fit(TEXTS, ["yes"] * 60, probabilities=answers, start_head="fitted", steps=1, learning_rate=1e-9, **QUICK)
    shares = softmax(np.stack(list(answered.outputs(TEXTS))), axis=1)[:, 1]
    assert 0.8 < shares.mean() < 0.97


def test_answers_of_tags_count_where_rows_have_them():
    words = [text.split() for text in TEXTS]
    tagger = TokenClassification.build(make_encoder(), make_tokenizer(), labels=["B-x", "O"], max_length=8)
    rows = read_rows(tagger, (words, [["O"] * len(sentence) for sentence in words]))
    answers = np.broadcast_to(np.array([9.0, 0.0], "float32"), (*rows["token_ids"].shape, 2))
    flags = {"has_answers": np.array([1, 0] * 30, "int32"), "has_label": np.ones(60, "int32")}
    source = SimpleNamespace(epoch=lambda: [{**rows, "teacher_answers": answers, **flags}])
    assert fit_head(tagger, source, "fitted") is not None
    logits = np.concatenate([row[1:6] for row in tagger.forward(rows)])
    assert np.median(np.abs(logits[:, 0] - logits[:, 1])) < 1.0, "half of the rows say B-x, the others O"


def test_words_of_a_row_are_left_out_together():
    words = [["good"] * 5 for _ in range(9)]
    tagger = TokenClassification.build(make_encoder(), make_tokenizer(), labels=["B-x", "O"], max_length=8)
    assert fit(tagger, words, [["O"] * 5] * 9) is None, "45 words, but 9 rows"


def test_after_an_error_a_new_head_is_as_before_and_starts_again():
    task = classifier()
    before = [weight.numpy() for weight in task.model.weights]
    with pytest.raises(NonFiniteLossError):
        task.fit(TEXTS, LABELS, start_head="fitted", learning_rate=1e30, warmup=0, **{**QUICK, "epochs": 3})
    for weight, expected in zip(task.model.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected)
    assert has_drawn_head(task)
    task.fit(TEXTS, LABELS, validation_split=0.5, start_head="random", learning_rate=1e-30, **QUICK)
    assert not has_drawn_head(task)


def test_frequencies_of_labels_do_not_outlast_a_training_that_failed():
    task, labels = classifier(), ["no"] * 45 + ["yes"] * 15
    with pytest.raises(NonFiniteLossError):
        task.fit(TEXTS, labels, validation_split=0.2, learning_rate=1e30, warmup=0, **{**QUICK, "epochs": 3})
    draw_head(task, 0)
    assert not task.model.layers[-1].bias.numpy().any()


def test_a_student_keeps_the_head_of_its_teacher_unless_another_is_nearer():
    teacher = classifier()
    fit(teacher, TEXTS, LABELS)
    twin = Classification(
        keras.models.clone_model(teacher.model), teacher.tokenizer, labels=teacher.labels, max_length=8
    )
    twin.model.set_weights(teacher.model.get_weights())
    fitted = fit(twin, TEXTS, LABELS, teacher=teacher, is_copied=True)
    assert fitted is not None
    np.testing.assert_array_equal(kernel_of(twin), kernel_of(teacher))
    twin.model.layers[-1].kernel.assign(-kernel_of(teacher))
    fit(twin, TEXTS, LABELS, teacher=teacher, is_copied=True)
    same = [answer.label for answer in twin.predict(TEXTS)] == [answer.label for answer in teacher.predict(TEXTS)]
    assert same


def test_only_drawn_heads_are_drawn_again():
    task = classifier()
    assert has_drawn_head(task)
    before = kernel_of(task)
    draw_head(task, 5)
    assert not np.array_equal(kernel_of(task), before)
    assert has_drawn_head(task)
    task.fit(TEXTS, LABELS, **QUICK)
    assert not has_drawn_head(task)


@pytest.mark.long
def test_fine_tuning_starts_from_the_fitted_head_and_never_ends_below_it():
    for rate, start in ((1e-9, "auto"), (1.0, "fitted")):
        task = classifier()
        task.fit(TEXTS, LABELS, validation_split=0.3, start_head=start, learning_rate=rate, seed=3, **QUICK)
        assert keras_bert.evaluate(task, TEXTS[-18:], LABELS[-18:])["accuracy"] > 0.85
    random = classifier()
    random.fit(TEXTS, LABELS, start_head="random", learning_rate=1e-9, seed=3, **QUICK)
    assert keras_bert.evaluate(random, TEXTS, LABELS)["loss"] > keras_bert.evaluate(task, TEXTS, LABELS)["loss"] + 0.1
