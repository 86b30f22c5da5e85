"""Static models: equal to the means of their files, learnt from vectors, saved and exported."""

import json
import re

import numpy as np
import pytest
import tokenizers
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array

import keras_bert
from keras_bert.compress.vocabulary import reduce_vocabulary
from keras_bert.interop.tokenizer_json import write_tokenizer
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from plugins.static import models
from plugins.static.files import read_static, write_static
from plugins.static.models import build_static, distill_static, token_vectors
from tests.keras_bert.recipes.test_texts import TEXTS, cosine, embedding

pytestmark = pytest.mark.usefixtures("eager")

WORDS = "a good bad film very . ##s [x]".split()
SAMPLES = ["a good film", "Films , very bad .", "unknown words", "good", "very very good films"]


def write_folder(folder, form, *, special=SPECIAL_TOKENS, mapping=False, normalize=True):
    """A folder of the shape of static-similarity or of potion with random numbers, and the vectors of its tokens."""
    chance, tokens = np.random.default_rng(0), [*special, *WORDS]
    content = write_tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    kept = {token: number for number, token in enumerate(tokens)}
    content["model"]["vocab"] = kept
    content["added_tokens"] = [
        {**token, "id": kept[token["content"]]} for token in content["added_tokens"] if token["content"] in kept
    ]
    content["post_processor"] = content["post_processor"] if special == SPECIAL_TOKENS else None
    rows = 6 if mapping else len(tokens)
    table = chance.normal(size=(rows, 4)).astype("float32")
    weights, places = np.ones(len(tokens)), np.arange(len(tokens))
    inner = folder if form == "model2vec" else folder / "0_StaticEmbedding"
    inner.mkdir(parents=True)
    if form == "model2vec":
        tensors, weights = {"embeddings": table}, chance.random(len(tokens))
        tensors["weights"] = weights
        if mapping:
            tensors["mapping"] = places = chance.integers(0, rows, len(tokens))
        config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": normalize}
        (inner / "config.json").write_text(json.dumps(config))
    else:
        tensors = {"embedding.weight": table}
    save_file(tensors, inner / "model.safetensors")
    (inner / "tokenizer.json").write_text(json.dumps(content))
    kinds = ["StaticEmbedding", *(["Normalize"] if normalize else [])]
    paths = [str(inner.relative_to(folder)) if inner != folder else "", "1_Normalize"]
    modules = [
        {"path": path, "type": f"sentence_transformers.models.{kind}"} for kind, path in zip(kinds, paths, strict=False)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    return table[places] * weights[:, None]


def mean_vectors(tokenizer_file, table, texts, *, without_unknown, normalize):
    """The vectors of both libraries in NumPy, but ones for a text without tokens, where they have zeros."""
    tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    unknown, rows = tokenizer.token_to_id("[UNK]"), []
    for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
        ids = [number for number in encoding.ids if not (without_unknown and number == unknown)]
        rows.append(table[ids].mean(axis=0) if ids else np.ones(table.shape[1]))
    rows = np.stack(rows)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12) if normalize else rows


@pytest.mark.parametrize(
    ("form", "changes"),
    [
        ("sentence_transformers", {"normalize": False}),
        ("sentence_transformers", {}),
        ("model2vec", {"mapping": True}),
        ("model2vec", {"special": ("[PAD]", "[UNK]")}),
    ],
)
def test_vectors_equal_those_of_the_files(tmp_path, form, changes):
    table = write_folder(tmp_path / "model", form, **changes)
    task = read_static(tmp_path / "model")
    file = next((tmp_path / "model").rglob("tokenizer.json"))
    options = {"without_unknown": form == "model2vec", "normalize": changes.get("normalize", True)}
    expected = mean_vectors(file, table, SAMPLES, **options)
    np.testing.assert_allclose(task.predict(SAMPLES), expected, atol=1e-6)
    task.save(tmp_path / "saved")
    np.testing.assert_allclose(keras_bert.load(tmp_path / "saved").predict(SAMPLES), expected, atol=1e-6)
    for other in ("sentence_transformers", "model2vec"):
        write_static(task, tmp_path / other, other)
        np.testing.assert_allclose(
            read_static(tmp_path / other).predict([SAMPLES[0]]), task.predict([SAMPLES[0]]), atol=1e-6
        )


@pytest.mark.parametrize("width", [None, 4])
def test_static_model_learns_vectors_and_is_written_exported_and_searched(tmp_path, width):
    teacher = embedding()
    expected = teacher.predict(TEXTS)
    options = {"batch_size": 8, "xla": "off", "verbose": 0, "epochs": 6, "width": width}
    task = distill_static(teacher, TEXTS, **options)
    vectors = task.predict(TEXTS)
    assert vectors.shape == expected.shape
    assert cosine(vectors, expected) > 0.9
    again = distill_static(teacher, TEXTS, vectors=expected, **options)
    np.testing.assert_array_equal(again.predict(TEXTS), vectors)
    assert task.search([TEXTS[3]], TEXTS, top_k=1)[0][0].similarity == pytest.approx(1.0, abs=1e-5)
    for form in ("sentence_transformers", "model2vec"):
        write_static(task, tmp_path / form, form)
        np.testing.assert_allclose(read_static(tmp_path / form).predict(TEXTS), vectors, atol=1e-6)
    for name in ("static.tflite", "static.onnx"):
        task.export(tmp_path / name)
        np.testing.assert_allclose(keras_bert.load(tmp_path / name).predict(TEXTS), vectors, atol=1e-5)


def test_vectors_of_four_bits_are_near_those_of_eight_and_half_as_large(tmp_path):
    teacher = embedding()
    options = {"batch_size": 8, "xla": "off", "verbose": 0, "epochs": 2, "width": 4}
    whole, task = (distill_static(teacher, TEXTS, bits=bits, **options) for bits in (None, 4))
    vectors = task.predict(TEXTS)
    assert cosine(vectors, whole.predict(TEXTS)) > 0.98
    table = np.asarray(task.model.get_layer("token_embedding").embeddings)
    assert table.shape == (teacher.tokenizer.vocabulary_size, 2)
    assert (table.min(), table.max()) == (-128, 127)
    assert set(np.unique(token_vectors(task)[5:])) <= set(range(-7, 8))
    smaller = reduce_vocabulary(task, range(len(table) - 1))
    np.testing.assert_array_equal(smaller.predict(TEXTS), vectors, err_msg="the last token is in no text")
    task.save(tmp_path / "saved")
    np.testing.assert_array_equal(keras_bert.load(tmp_path / "saved").predict(TEXTS), vectors)
    write_static(task, tmp_path / "st")
    np.testing.assert_allclose(read_static(tmp_path / "st").predict(TEXTS), vectors, atol=1e-6)
    for recipe in ("dynamic_wi8", "mixed_wi8_ai8", "weights_wi4"):
        quantized = keras_bert.load(tmp_path / "saved")
        keras_bert.quantize(quantized, TEXTS, recipe=recipe, batch_size=8, xla="off", verbose=0, epochs=1)
        kept = np.asarray(quantized.model.get_layer("token_embedding").embeddings)
        np.testing.assert_array_equal(kept, table, err_msg="bytes are neither rounded nor trained")
        expected = quantized.predict(TEXTS)
        for name in ("static.tflite", "static.onnx"):
            quantized.export(tmp_path / name)
            assert cosine(keras_bert.load(tmp_path / name).predict(TEXTS), expected) > 0.99, (recipe, name)


def test_refuses_an_odd_width_of_four_bits_before_a_training():
    with pytest.raises(ValueError, match=re.escape("width must be even where bits is 4, got 5")):
        distill_static(embedding(), TEXTS, bits=4, width=5)
    with pytest.raises(ValueError, match=re.escape("width must be given, as an even number, where bits is 4, got 5")):
        distill_static(embedding(), TEXTS, bits=4, vectors=np.ones((len(TEXTS), 5), "float32"))


def test_token_weights_become_part_of_vectors_where_a_library_has_none(tmp_path):
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    table = np.random.default_rng(0).normal(size=(tokenizer.vocabulary_size, 4)).astype("float32")
    task = build_static(table, tokenizer, weights=np.linspace(0.5, 2, len(table), dtype="float32"))
    write_static(task, tmp_path / "st")
    write_static(task, tmp_path / "m2v", "model2vec")
    stored = load_file(tmp_path / "st" / "0_StaticEmbedding" / "model.safetensors")
    assert stored.keys() == {"embedding.weight"}
    assert load_file(tmp_path / "m2v" / "model.safetensors").keys() == {"embeddings", "weights"}
    np.testing.assert_allclose(read_static(tmp_path / "st").predict(SAMPLES), task.predict(SAMPLES), atol=1e-6)


@pytest.mark.parametrize("form", ["sentence_transformers", "model2vec"])
def test_fewer_numbers_prompts_and_the_similarity_function_are_written(tmp_path, form):
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    table = np.random.default_rng(0).normal(size=(tokenizer.vocabulary_size, 4)).astype("float32")
    settings = {"prompts": {"query": "good ", "passage": "bad "}, "normalize": False, "similarity_function": "dot"}
    task = build_static(table, tokenizer, **settings).truncated(3)
    write_static(task, tmp_path / form, form)
    read, texts = read_static(tmp_path / form), ["a good film", "very bad ."]
    np.testing.assert_allclose(read.predict(texts), task.predict(texts), atol=1e-6)
    assert (vars(read.prompts), read.normalize, read.similarity_function) == (
        vars(task.prompts),
        task.normalize,
        task.similarity_function,
    )
    with pytest.raises(ValueError, match=r"prune.model must have dense layers, whose weights pruning sets to zero"):
        keras_bert.prune(task, texts, verbose=0, epochs=1, xla="off")


def test_a_static_student_has_the_prompts_and_the_similarity_function_of_its_teacher():
    teacher = embedding()
    settings = {"prompts": {"passage": "good "}, "normalize": False, "similarity_function": "dot"}
    teacher = Embedding.build(teacher.encoder, teacher.tokenizer, max_length=8, **settings)
    task = distill_static(teacher, TEXTS, batch_size=8, xla="off", verbose=0, epochs=1)
    assert task.settings() == teacher.settings()
    with pytest.raises(ValueError, match=r"StaticStudent.width must be positive, got 0"):
        distill_static(teacher, TEXTS, width=0)


@pytest.mark.parametrize("bits", [None, 4])
def test_a_table_narrower_than_the_truncated_vectors_of_its_teacher_keeps_them(bits):
    teacher = embedding(Retrieval, contrast={"dimensions": [8, 12]})
    options = {"batch_size": 8, "xla": "off", "verbose": 0, "epochs": 1, "bits": bits}
    task = distill_static(teacher, TEXTS, width=4, **options)
    assert task.settings() == teacher.settings()
    other = distill_static(teacher, TEXTS, width=4, vectors=teacher.predict(TEXTS)[:, :10], **options)
    assert other.contrast.dimensions == (8,)


def test_refuses_folders_and_models_that_are_not_static(tmp_path):
    (tmp_path / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer"}]')
    with pytest.raises(ValueError, match=r"must hold a StaticEmbedding, .* got \['Transformer'\]"):
        read_static(tmp_path)
    with pytest.raises(ValueError, match="write_static needs a static model"):
        write_static(embedding(), tmp_path / "other")
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    with pytest.raises(ValueError, match=r"build_static.table must be \(13, width\), got \(3, 4\)"):
        build_static(np.ones((3, 4), "float32"), tokenizer)
    with pytest.raises(ValueError, match=r"StaticStudent.width must be at most 16, the width of the vectors, got 17"):
        distill_static(embedding(), TEXTS, width=17)


def test_a_token_of_no_text_starts_like_the_token_with_its_embedding(monkeypatch):
    monkeypatch.setattr("plugins.static.models._STEPS", 0)
    teacher = embedding()
    layer, tokens = teacher.encoder.get_layer("token_embedding"), teacher.tokenizer.vocabulary
    seen, unseen = tokens.index("film"), tokens.index("[x]")
    assert all("[x]" not in text for text in TEXTS)
    table = layer.get_weights()[0]
    table[unseen] = table[seen]
    layer.set_weights([table])
    vectors = np.random.default_rng(0).normal(size=(len(TEXTS), 8))
    student = distill_static(teacher, TEXTS, vectors=vectors, steps=1, learning_rate=1e-12, verbose=0)
    rows = np.asarray(student.model.get_layer("token_embedding").matrix())
    np.testing.assert_allclose(rows[unseen], rows[seen], atol=1e-5)
    mean = 0.1 * vectors.mean(axis=0)
    assert np.linalg.norm(rows[unseen] - mean) > 0.1 * np.linalg.norm(mean)


def test_ignored_tokens_keep_their_meaning_in_a_smaller_vocabulary():
    tokens = ["x", "y", *SPECIAL_TOKENS, *WORDS]
    tokenizer, chance = Tokenizer(tokens, lowercase=True), np.random.default_rng(0)
    table = chance.normal(size=(len(tokens), 4)).astype("float32")
    task = build_static(table, tokenizer, weights=chance.random(len(tokens)).astype("float32"), max_length=16)
    smaller = reduce_vocabulary(task, range(1, len(tokens)))
    np.testing.assert_allclose(smaller.predict(SAMPLES), task.predict(SAMPLES), atol=1e-6)


@pytest.mark.parametrize("length", [0.05, 20.0])
def test_the_lengths_of_a_teachers_vectors_do_not_matter_where_cosines_do(length):
    teacher, options = embedding(), {"batch_size": 8, "xla": "off", "verbose": 0, "width": 4}
    vectors = teacher.predict(TEXTS)
    task, other = (distill_static(teacher, TEXTS, vectors=given, **options) for given in (vectors, length * vectors))
    np.testing.assert_allclose(task.predict(TEXTS), other.predict(TEXTS), atol=1e-4)


@pytest.mark.parametrize("keeps_lengths", [False, True])
def test_token_vectors_solve_the_regression_on_the_tokens_of_texts(keeps_lengths):
    chance = np.random.default_rng(0)
    bags, weights = chance.integers(0, 3, (40, 6)).astype("float32"), chance.random(6).astype("float32") + 0.5
    vectors, start = chance.normal(size=(40, 3)).astype("float32"), chance.normal(size=(6, 3)).astype("float32")
    means = bags / bags.sum(axis=1, keepdims=True) * weights
    if not keeps_lengths:
        means /= np.linalg.norm(means @ start, axis=1, keepdims=True)
    penalty = models._PENALTY * np.square(means).sum() / 40
    gram = means.T @ means + penalty * np.eye(6)
    expected = start + np.linalg.solve(gram, means.T @ (vectors - means @ start))
    solved = models._solve(csr_array(bags), weights, vectors, start, keeps_lengths=keeps_lengths)
    np.testing.assert_allclose(solved, expected, atol=1e-4)
