import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.interop.hugging_face import from_hugging_face, to_hugging_face
from keras_bert.options.adaptation import Lora
from keras_bert.options.data import Prompts
from keras_bert.options.training import Contrast
from keras_bert.tasks.embedding import Embedding, cosine_similarity
from keras_bert.tasks.registry import load
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tasks.tiny import WORDS, make_encoder

QUERIES, PASSAGES = ["good", "bad", "very"], ["film", ". .", "a a"]
PROMPTS = {"query": "a ", "passage": "very "}


def build(**settings):
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    return Retrieval.build(make_encoder(num_layers=1), tokenizer, max_length=30, **settings)


@pytest.mark.long
def test_fitting_the_similarity_brings_queries_to_their_passages():
    keras.utils.set_random_seed(0)
    task = build(prompts=PROMPTS)
    x, y = task.examples(QUERIES * 8, PASSAGES * 8)
    assert y.ravel().tolist() == [0, 1, 2] * 8
    task.compile(keras.optimizers.Adam(5e-3))
    task.similarity.fit(x, y, batch_size=12, epochs=15, verbose=0)
    assert [matches[0].text for matches in task.search(QUERIES, PASSAGES, top_k=1)] == PASSAGES


def test_labels_are_those_of_folded_texts():
    _, labels = build().examples(["good", "Good ", "bad", "very"], ["a film", "film", "A  Film", "very good"])
    # "a film" answers two queries, "film" the first of them alone.
    assert labels.tolist() == [[0, 1], [1, 0], [0, -1], [2, -1]]


def test_queries_may_be_longer_than_passages_where_both_are_read_at_once():
    task = build()
    rows = task.training_rows([" ".join(WORDS[:4]), WORDS[0]], [WORDS[1], WORDS[2]])
    inputs = task.objective().inputs(task.network(), rows)
    assert {name: tuple(array.shape) for name, array in inputs.items()} == dict.fromkeys(inputs, (4, 6))
    assert np.asarray(inputs["padding_mask"]).sum(axis=1).tolist() == [6, 3, 3, 3]


def test_prompts_stand_in_front_of_what_they_are_for():
    task = build(prompts=PROMPTS)
    plain = Retrieval(task.model, task.tokenizer, max_length=30)
    np.testing.assert_array_equal(task.predict(["good"]), plain.predict(["good"]))
    for prompt in ("query", "passage"):
        expected = plain.predict([PROMPTS[prompt] + "good"])
        np.testing.assert_array_equal(task.predict(["good"], prompt=prompt), expected)
    vector, _ = next(task.answer_values(["good"]))
    np.testing.assert_array_equal(vector, plain.predict(["a good"])[0])
    task.single_prompt = "passage"
    vector, _ = next(task.answer_values(["good"]))
    np.testing.assert_array_equal(vector, plain.predict(["very good"])[0])
    (cosine,) = next(task.answer_values(["good"], ["film"]))
    expected = cosine_similarity(plain.predict(["a good"]), plain.predict(["very film"]))[0, 0]
    assert cosine == pytest.approx(float(expected), abs=1e-6)
    (match,) = task.search(["good"], ["film"])[0]
    assert match.similarity == pytest.approx(cosine, abs=1e-6)


def test_settings_are_saved_and_others_see_an_embedding(tmp_path):
    task = build(prompts=PROMPTS, contrast={"scale": 50.0, "dimensions": [4, 8]}, normalize=True)
    task.save(tmp_path / "own")
    again = load(tmp_path / "own")
    assert type(again) is Retrieval
    assert (again.prompts, again.contrast) == (Prompts(**PROMPTS), Contrast(scale=50.0, dimensions=(4, 8)))
    to_hugging_face(task, tmp_path / "hf")
    other = from_hugging_face(tmp_path / "hf")
    assert type(other) is Embedding
    assert other.prompts == Prompts(**PROMPTS)
    np.testing.assert_allclose(other.predict(QUERIES), task.predict(QUERIES), atol=1e-6)


def test_truncated_vectors_are_those_of_the_task_with_its_adapter_and_prompt():
    task = build(normalize=False)
    task.quantization = QuantizationParameters("mixed_wi8_ai8", {}, ())
    task.single_prompt, task.vector_code = "passage", "int8"
    short = task.truncated(8)
    assert (short.quantization, short.single_prompt, short.vector_code) == (task.quantization, "passage", "int8")
    with pytest.raises(ValueError, match=r"Retrieval\.dimension must be from 1 to 7, got 12"):
        short.truncated(12)
    before = task.predict(QUERIES)
    chance = np.random.default_rng(0)
    for weight in task.adapt(Lora(rank=2)).weights().values():
        weight.assign(chance.normal(size=weight.shape))
    short = task.truncated(8)
    np.testing.assert_allclose(short.predict(QUERIES), task.predict(QUERIES)[:, :8], atol=1e-5)
    assert not np.allclose(short.predict(QUERIES), before[:, :8], atol=1e-2)
    adapted = task.predict(QUERIES)
    short.merge_adapter()
    with pytest.raises(ValueError, match=r"must not follow a merge: the encoder's weights have the adapter already"):
        task.predict(QUERIES)
    task.drop_adapter()
    np.testing.assert_allclose(task.predict(QUERIES), adapted, atol=1e-5)


def test_truncated_vectors_are_the_first_numbers_and_wrong_settings_are_named(tmp_path):
    task = build(normalize=True, contrast={"dimensions": [4, 8]})
    short = task.truncated(8)
    first = task.predict(QUERIES)[:, :8]
    np.testing.assert_allclose(short.predict(QUERIES), first / np.linalg.norm(first, axis=1, keepdims=True), atol=1e-6)
    assert short.contrast.dimensions == (4,)
    short.save(tmp_path / "short")
    np.testing.assert_allclose(load(tmp_path / "short").predict(QUERIES), short.predict(QUERIES), atol=1e-6)
    with pytest.raises(ValueError, match=r"Retrieval\.dimension must be from 1 to 15, got 16"):
        task.truncated(16)
    with pytest.raises(ValueError, match=r"to_hugging_face.dimension must not be set, as no module of sentence-transf"):
        to_hugging_face(short, tmp_path / "hf")
    with pytest.raises(ValueError, match=r"contrast.scale must be positive, got -1.0"):
        build(contrast={"scale": -1.0})
    with pytest.raises(ValueError, match=r"Contrast.dimensions must be below 17, the width of a vector, got \[17\]"):
        build(contrast={"dimensions": [17]})
    with pytest.raises(
        ValueError, match=r"Retrieval.contrast.loss must be 'multiple_negatives' for fit, got 'triplet'"
    ):
        build(contrast={"loss": "triplet"}).loss()
