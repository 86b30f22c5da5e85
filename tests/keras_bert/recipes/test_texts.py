"""An embedding that learns a teacher's vectors of texts without labels."""

import re
import threading

import numpy as np
import pytest

import keras_bert
from keras_bert.options.adaptation import Lora
from keras_bert.options.compression import Imitation, Student
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tasks.tiny import WORDS, make_encoder

pytestmark = pytest.mark.usefixtures("eager")

TOKENIZER = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
TEXTS = [f"{first} {second} film" for first in WORDS[:6] for second in WORDS[:4]]
QUICK = {"batch_size": 8, "xla": "off", "precision": "float32", "verbose": 0, "seed": 3}
LONG = {**QUICK, "epochs": 12, "learning_rate": 2e-2}


def embedding(kind=Embedding, seed=0, **settings):
    task = kind.build(make_encoder(), TOKENIZER, max_length=8, **settings)
    chance = np.random.default_rng(seed)
    for weight in task.model.trainable_weights:
        weight.assign(weight + chance.normal(scale=0.3, size=weight.shape))
    return task


def cosine(vectors, expected):
    products = (vectors * expected).sum(axis=1)
    return float(np.mean(products / np.linalg.norm(vectors, axis=1) / np.linalg.norm(expected, axis=1)))


@pytest.mark.parametrize("kind", [Embedding, Retrieval])
def test_student_of_fewer_layers_learns_the_teachers_vectors(kind):
    teacher = embedding(kind, prompts={"query": "very ", "passage": "a "})
    before = [weight.numpy() for weight in teacher.model.weights]
    expected = teacher.predict(TEXTS, prompt="passage")
    short, trained = (keras_bert.distill(teacher, TEXTS, layers=[1], **{**LONG, "epochs": n}) for n in (0.1, 12))
    cosines = [cosine(task.predict(TEXTS, prompt="passage"), expected) for task in (short, trained)]
    assert cosines[0] + 0.01 < cosines[1]
    assert cosines[1] > 0.95
    assert trained.settings() == teacher.settings()
    assert trained.head() == teacher.head()
    for weight, values in zip(teacher.model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, values)


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        ({"pooling": "mean+max", "dimension": 10}, Student(layers=(0,))),
        ({"projections": [{"units": 6}]}, Student(layers=(1,), num_heads=1)),
        ({}, Student(num_layers=1, hidden_size=8)),
    ],
)
def test_student_of_another_width_keeps_a_layer_to_the_teachers_width(tmp_path, head, shape):
    start, chance = embedding(**head), np.random.default_rng(0)
    vectors = np.tanh(start.predict(TEXTS) @ chance.normal(size=(start.predict(TEXTS[:1]).shape[1], 5)))
    student = keras_bert.distill(start, TEXTS, student=shape, vectors=vectors, **LONG)
    answers = student.predict(TEXTS)
    assert answers.shape == (len(TEXTS), 5)
    assert cosine(answers, vectors) > 0.93
    student.save(tmp_path / "saved")
    np.testing.assert_array_equal(keras_bert.load(tmp_path / "saved").predict(TEXTS), answers)
    if not head:
        student.export(tmp_path / "student.tflite", lengths=[8])
        np.testing.assert_allclose(keras_bert.load(tmp_path / "student.tflite").predict(TEXTS), answers, atol=1e-5)


def test_new_layer_starts_as_a_regression_that_leaves_the_vectors_what_they_say():
    start = embedding()
    matrix = np.random.default_rng(0).normal(size=(16, 40))
    vectors = start.predict(TEXTS) @ matrix
    student = keras_bert.distill(start, TEXTS, layers=[0, 1], vectors=vectors, **{**QUICK, "learning_rate": 1e-9})
    assert cosine(student.predict(TEXTS), vectors) > 0.98


def test_texts_without_a_vector_are_left_out():
    start = embedding()
    vectors = list(embedding(seed=1).predict(TEXTS))
    some = [None, vectors[1], [], [float("nan")] * 16, *vectors[4:]]
    given = [1, *range(4, len(TEXTS))]
    one = keras_bert.distill(start, TEXTS, layers=[0], vectors=some, **QUICK)
    kept = [TEXTS[index] for index in given], [vectors[index] for index in given]
    other = keras_bert.distill(start, kept[0], layers=[0], vectors=kept[1], **QUICK)
    for weight, expected in zip(one.model.weights, other.model.weights, strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_a_student_of_a_table_of_vectors_has_the_space_of_the_table():
    """It had a space of its own, so that it refused the index of the model that made the vectors."""
    start, large = embedding(), embedding(seed=1)
    vectors = large.predict(TEXTS).tolist()
    table = {"vector": [None, *vectors[1:]], "vector_space": [None, *[large.space] * (len(TEXTS) - 1)]}
    student = keras_bert.distill(start, TEXTS, layers=[0], vectors=table, **QUICK)
    assert student.space == large.space
    assert student.search(TEXTS[:1], TEXTS, vectors={"vector": vectors, "vector_space": [large.space] * len(TEXTS)})
    given = keras_bert.distill(start, TEXTS, layers=[0], vectors=table["vector"], **QUICK)
    assert given.space not in (large.space, start.space)
    table["vector_space"][1] = "other"
    with pytest.raises(ValueError, match=r"distill\.vectors must be of one space, got \['.*', 'other'\]"):
        keras_bert.distill(start, TEXTS, layers=[0], vectors=table, **QUICK)


def test_vectors_that_are_compared_by_dot_product_are_learnt_with_their_lengths():
    teacher = embedding(normalize=False, similarity_function="dot")
    student = keras_bert.distill(teacher, TEXTS, layers=[1], **LONG, imitation=Imitation(cosine=0.1))
    answers, expected = student.predict(TEXTS), teacher.predict(TEXTS)
    assert np.abs(answers - expected).mean() < 0.2 * np.abs(expected).mean()


def test_quantized_and_pruned_models_imitate_the_float_models_vectors():
    task = embedding()
    expected = task.predict(TEXTS)
    keras_bert.prune(task, TEXTS, **LONG)
    assert cosine(task.predict(TEXTS), expected) > 0.95
    keras_bert.quantize(task, TEXTS, **QUICK, epochs=1)
    assert task.quantization.recipe == "mixed_wi8_ai8"
    assert cosine(task.predict(TEXTS), expected) > 0.93


def test_second_call_other_threads_and_adapters_of_the_encoder_change_no_student():
    teacher = embedding()
    expected = keras_bert.distill(teacher, TEXTS, layers=[1], **QUICK)
    other = Embedding.build(teacher.encoder, teacher.tokenizer, max_length=8)
    other.adapt(Lora(rank=2))
    made = [keras_bert.distill(teacher, TEXTS, layers=[1], **QUICK)]
    thread = threading.Thread(target=lambda: made.append(keras_bert.distill(teacher, TEXTS, layers=[1], **QUICK)))
    thread.start()
    thread.join()
    assert len(made) == 2
    for student in made:
        for weight, value in zip(student.model.weights, expected.model.weights, strict=True):
            np.testing.assert_array_equal(weight, value)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((3, 4)), "Embedding.vectors must be 2, one for each text, got 3"),
        ([[1.0, 2.0], [1.0]], "Embedding.vectors[1] must be 2 numbers, as many as the first vector has, got (1,)"),
        ([[1.0], [np.inf]], "Embedding.vectors[1] must have finite numbers, got 'NaN or infinity'"),
        ([[1.0, np.nan], [1.0, 1.0]], "Embedding.vectors[0] must have finite numbers, got 'NaN or infinity'"),
        ([[1.0], [0.0]], "Embedding.vectors[1] must be no vector of zeros, which has no direction, got 'zeros'"),
        ([None, None], "Embedding.vectors must hold the vector of at least one text, got 'none for 2'"),
        ([["a"], [1.0]], "Embedding.vectors[0] must be a list of numbers, got"),
    ],
)
def test_refuses_vectors_that_are_wrong(vectors, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        keras_bert.distill(embedding(), TEXTS[:2], layers=[0], vectors=vectors)


def test_refuses_blank_texts_and_arguments_of_other_rows():
    teacher, vectors = embedding(), np.ones((1, 2))
    with pytest.raises(ValueError, match=r"Embedding.texts\[1\] must be a text that is not blank"):
        keras_bert.distill(teacher, ["a", " "], layers=[0])
    with pytest.raises(ValueError, match=r"distill.vectors must be left out unless data are the texts of an embedding"):
        keras_bert.distill(teacher, ["a"], ["b"], [1.0], layers=[0], vectors=vectors)
    with pytest.raises(ValueError, match=r"distill.probabilities must be left out for texts alone"):
        keras_bert.distill(teacher, ["a"], layers=[0], probabilities=[1.0])
    with pytest.raises(ValueError, match=r"distill.imitation must be left out beside vectors, as its losses compare"):
        keras_bert.distill(teacher, ["a"], layers=[0], vectors=vectors, imitation=Imitation(vectors=1.0))
