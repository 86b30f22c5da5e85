import json
import re

import keras
import numpy as np
import pyarrow as pa
import pytest

import keras_bert
from keras_bert.core.vector_codes import int8_codes
from keras_bert.tasks.embedding import Embedding, build_embedder, cosine_similarity
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

TEXTS = ["a good film", "a bad film .", "film", "very very very good"]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("normalize", [False, True])
def test_vectors_against_numpy(pooling, normalize):
    encoder = make_encoder()
    task = Embedding.build(encoder, make_tokenizer(), pooling=pooling, normalize=normalize, max_length=30)
    inputs = task.encode(TEXTS)
    states = np.asarray(encoder(inputs)["sequence_output"])
    rows = zip(states, inputs["padding_mask"], strict=True)
    expected = np.stack([row[0] if pooling == "cls" else row[mask == 1].mean(0) for row, mask in rows])
    if normalize:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(task.predict(TEXTS), expected, atol=1e-5)


def test_vectors_have_length_1_unless_the_checkpoint_has_others():
    plain, new = make_encoder(), Embedding.build(make_encoder(), make_tokenizer(), max_length=30)
    np.testing.assert_allclose(np.linalg.norm(new.predict(TEXTS), axis=1), 1.0, atol=1e-5)
    assert (new.head(), new.settings()["normalize"]) == ({"pooling": "mean"}, True)
    checkpoint = Embedding.build(plain, make_tokenizer(), max_length=30, pooling="cls", normalize=False)
    again = Embedding.build(checkpoint.encoder, make_tokenizer(), max_length=30)
    assert (again.head(), again.settings()["normalize"]) == ({"pooling": "cls"}, False)
    np.testing.assert_array_equal(again.predict(TEXTS), checkpoint.predict(TEXTS))
    assert Embedding.build(checkpoint.encoder, make_tokenizer(), max_length=30, normalize=True).normalize
    # What was learnt of one task's head is no property of the encoder that both share.
    assert Embedding.build(plain, make_tokenizer(), max_length=30).settings()["normalize"]
    with pytest.raises(ValueError, match=r"Embedding\.normalize must be False, as in the model's graph, got True"):
        Embedding(checkpoint.model, make_tokenizer(), max_length=30, normalize=True)


@pytest.mark.parametrize(
    ("function", "order"),
    [("cosine", [0, 2, 1, 3]), ("dot", [2, 1, 0, 3]), ("euclidean", [1, 0, 3, 2]), ("manhattan", [0, 1, 3, 2])],
)
def test_a_search_compares_by_the_function_of_the_checkpoint(function, order, monkeypatch):
    """Inner products were ignored: all checkpoints were searched by cosine."""
    task = Embedding.build(make_encoder(), make_tokenizer(), max_length=30, similarity_function=function)
    monkeypatch.setattr(task, "predict", lambda texts, **_: np.array([[1.0, 0.0]] * len(texts), "float32"))
    vectors = np.array([[0.1, 0.0], [1.5, 0.6], [3.0, 1.0], [-1.0, 0.0]], "float32")
    (matches,) = task.search(["film"], TEXTS, vectors=vectors)
    assert [match.index for match in matches] == order
    assert [match.similarity for match in matches] == sorted((m.similarity for m in matches), reverse=True)
    (same,) = next(task.answer_values(["film"], ["a film"]))
    assert same == pytest.approx(1.0 if function in ("cosine", "dot") else 0.0)
    if function != "cosine":
        with pytest.raises(ValueError, match=r"Embedding\.similarity_function must be 'cosine' where"):
            task.objective()


def test_rows_have_the_prompts_of_answers():
    prompts = {"query": "a ", "passage": "very "}
    task = Embedding.build(make_encoder(), make_tokenizer(), max_length=30, prompts=prompts)
    others = TEXTS[::-1]
    rows = task.training_rows(TEXTS, others, [0.5] * 4)
    expected = {"": task.encode([f"a {text}" for text in TEXTS]), "second_": task.encode([f"very {t}" for t in others])}
    for side, features in expected.items():
        np.testing.assert_array_equal(rows[f"{side}token_ids"], features["token_ids"])
    answers = np.array([value for (value,) in task.answer_values(TEXTS, iter(others))])
    error = keras_bert.evaluate(task, TEXTS, others, [0.5] * 4)["absolute_error"]
    assert error == pytest.approx(np.abs(answers - 0.5).mean(), abs=1e-5)


@pytest.mark.parametrize(("function", "normalize"), [("cosine", False), ("dot", True), ("dot", False)])
def test_int8_vectors_are_searched_in_the_order_of_the_vectors_or_refused(function, normalize):
    """Each int8 vector has a scale of its own: inner products of different lengths came in another order."""
    task = Embedding.build(
        make_encoder(), make_tokenizer(), max_length=30, similarity_function=function, normalize=normalize
    )
    vectors = np.random.default_rng(0).normal(size=(8, 16)).astype("float32")
    vectors *= 1.0 if normalize else np.arange(1, 9)[:, None]
    if normalize:
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts, codes = ["film"] * 8, int8_codes(vectors)
    task.vector_code = "int8"
    if (function, normalize) == ("dot", False):
        rule = r"Embedding\.vector_code must be 'float32', as int8 and binary vectors lose their length, which dot"
        for refused in (lambda: task.search(["film"], texts, vectors=codes), task.answer_columns):
            with pytest.raises(ValueError, match=rule):
                refused()
        with pytest.raises(ValueError, match=rule):
            next(task.answer_values(["film"]))
        return
    # Of a table, a column of lists has lost the type of its numbers.
    indices = {"vector": codes.tolist(), "vector_space": [task.space] * 8}
    exact, *coded = (task.search(["film"], texts, top_k=8, vectors=array)[0] for array in (vectors, codes, indices))
    for matches in coded:
        assert [match.index for match in matches] == [match.index for match in exact]
        for one, other in zip(matches, exact, strict=True):
            assert one.similarity == pytest.approx(other.similarity, abs=0.02)


def test_a_table_that_predict_wrote_is_searched_by_the_columns_of_its_vectors():
    task = Embedding.build(make_encoder(), make_tokenizer(), max_length=30)
    vectors = task.predict(TEXTS)
    expected = [match.index for match in task.search(["film"], TEXTS, vectors=vectors)[0]]
    others = {"vector": [[1.0]] * 4, "vector_space": ["other"] * 4}
    for table in (
        {"vector": vectors.tolist(), "vector_space": [task.space.encode()] * 4},
        {"vector": [json.dumps(vector) for vector in vectors.tolist()]},
        {**others, "predicted_vector": vectors.tolist(), "predicted_vector_space": [task.space] * 4},
        pa.table({"predicted_vector": list(vectors), "predicted_vector_space": [task.space] * 4}),
        vectors.tolist(),
    ):
        assert [match.index for match in task.search(["film"], TEXTS, vectors=table)[0]] == expected
    with pytest.raises(ValueError, match=r"must be of the model's space, .*, got 'vectors of the space other'$"):
        task.search(["film"], TEXTS, vectors={"vector": vectors.tolist(), "vector_space": [b"other"] * 4})
    with pytest.raises(ValueError, match=r"must have a column 'vector' where they are a table, got \['vectr'\]$"):
        task.search(["film"], TEXTS, vectors={"vectr": vectors.tolist()})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "Embedding.vectors[2] must be a vector, as all texts are searched"),
        ([np.nan] * 16, "Embedding.vectors[2] must be a vector, as all texts are searched"),
        ([1.0] * 15 + [np.nan], "Embedding.vectors[2] must have finite numbers, got 'NaN or infinity'"),
        ([1.0] * 15, "Embedding.vectors[2] must be 16 numbers, as many as the first vector has, got (15,)"),
        ("[1.0, a]", "Embedding.vectors[2] must be a list of numbers, got '[1.0, a]'"),
    ],
)
def test_a_search_names_the_row_whose_vector_cannot_be_compared(row, message):
    """NaN became a similarity, and other rows an error of NumPy."""
    task = Embedding.build(make_encoder(), make_tokenizer(), max_length=30)
    vectors = [*task.predict(TEXTS).tolist()[:2], row, *task.predict(TEXTS).tolist()[3:]]
    with pytest.raises(ValueError, match=re.escape(message)):
        task.search(["film"], TEXTS, vectors={"vector": vectors})
    if row is not None and len(row) == 16:
        with pytest.raises(ValueError, match=r"Embedding\.vectors\[2\] must have finite numbers, got 'NaN or inf"):
            task.search(["film"], TEXTS, vectors=np.array(vectors))


def test_the_model_keeps_the_outputs_of_the_encoder_and_cosines_are_exact():
    encoder = make_encoder()
    assert build_embedder(encoder).output.keys() == {"sequence_output", "pooled_output", "embedding"}
    assert len(build_embedder(encoder).weights) == len(encoder.weights)
    first, second = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[6.0, 8.0], [-4.0, 3.0], [1.0, 0.0]])
    np.testing.assert_allclose(cosine_similarity(first, second), [[1.0, 0.0, 0.6], [0.0, 0.0, 0.0]], atol=1e-7)


def test_search_finds_the_nearest_first():
    task = Embedding.build(make_encoder(), make_tokenizer(), max_length=30)
    actual_matches = task.search(["film", "a bad film ."], TEXTS, top_k=3)
    assert [matches[0].text for matches in actual_matches] == ["film", "a bad film ."]
    assert [len(matches) for matches in actual_matches] == [3, 3]
    for matches in actual_matches:
        assert matches[0].similarity == pytest.approx(1, abs=1e-5)
        assert [match.similarity for match in matches] == sorted((m.similarity for m in matches), reverse=True)
        assert all(TEXTS[match.index] == match.text for match in matches)
    again = task.search(["film", "a bad film ."], TEXTS, top_k=99, vectors=task.predict(TEXTS))
    assert [[match.index for match in matches[:3]] for matches in again] == [
        [m.index for m in ms] for ms in actual_matches
    ]
    assert len(again[0]) == 4


def test_fitting_the_similarity_moves_the_vectors():
    keras.utils.set_random_seed(0)
    task = Embedding.build(make_encoder(num_layers=1), make_tokenizer(), max_length=30)
    task.compile(keras.optimizers.Adam(5e-3))
    x, y = task.examples(["good", "good"] * 16, ["bad", "film"] * 16, [-1.0, 1.0] * 16)
    task.similarity.fit(x, y, epochs=30, verbose=0)
    cosines = cosine_similarity(task.predict(["good"]), task.predict(["bad", "film"]))[0]
    assert cosines[0] < -0.5
    assert cosines[1] > 0.5


def test_bad_arguments():
    task = Embedding.build(make_encoder(), make_tokenizer(), max_length=30)
    with pytest.raises(ValueError, match=r"build_embedder.pooling must be one of \('cls', .*, got 'sum'$"):
        build_embedder(make_encoder(), pooling="sum")
    with pytest.raises(ValueError, match=r"Embedding.similarities\[1\] must be in \[-1, 1\], got 4.5"):
        task.examples(["a", "film"], ["film", "a"], [0.0, 4.5])
    with pytest.raises(ValueError, match=r"Embedding.similarities\[1\] must be in \[-1, 1\], got 4.5"):
        task.examples(iter(["a", "film"]), iter(["film", "a"]), iter([0.0, 4.5]))
    with pytest.raises(ValueError, match=r"others must be as many as texts \(1\), got 2"):
        task.examples(["a"], ["film", "a"], [0.0])
    with pytest.raises(ValueError, match=r"vectors must be as many as texts \(4\), got 1"):
        task.search(["a"], TEXTS, vectors=np.zeros((1, 16)))
    with pytest.raises(ValueError, match=r"Embedding\.top_k must be at least 1, got 0"):
        task.search(["a"], TEXTS, top_k=0)
