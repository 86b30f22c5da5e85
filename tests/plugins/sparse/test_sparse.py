"""Sparse vectors: equal to sentence-transformers' (tests/golden/sparse.py), trained, saved, exported and searched."""

import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import save_file

import keras_bert
from components.artifacts.standard import Model, Vocabulary
from components.dsl.errors import InputError
from components.fit_vocabulary import fit_vocabulary
from components.training.scored_candidates import similarities
from keras_bert.core.config import EncoderConfig
from keras_bert.export.saved_model import check_saved_model, find_signatures
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.models.encoder import build_encoder
from keras_bert.options.compression import Imitation
from keras_bert.tasks.pretraining import Pretraining
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from plugins.sparse.files import read_sparse
from plugins.sparse.task import Sparse, idf_weights
from tests.components import tuning_job
from tests.golden.sparse import FOLDERS, HERE, MODEL, QUERY_FOLDER, TEXTS, WEIGHTS
from tests.keras_bert.interop.checkpoints import change_json
from tests.keras_bert.tasks.tiny import WORDS, make_encoder
from tests.model_files import write_file
from tests.pipeline.settings.texts import load

pytestmark = pytest.mark.usefixtures("eager")

ANSWERS = json.loads((HERE / "answers.json").read_text())["answers"]
TOKENIZER = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
QUERIES = [f"{first} {second}" for first in WORDS[:4] for second in WORDS[:4] if first != second]
PASSAGES = [f"{text.split()[1]} film {text.split()[0]} ." for text in QUERIES]
QUICK = {"batch_size": 12, "xla": "off", "precision": "float32", "verbose": 0, "seed": 3}


def make_folder(name, folder):
    shutil.copytree(HERE / name, folder)
    shutil.copytree(MODEL, folder / FOLDERS[name], dirs_exist_ok=True)
    if name == "router":
        save_file({"weight": WEIGHTS}, folder / QUERY_FOLDER / "model.safetensors")
    return folder


def sparse(**settings):
    start = Pretraining.build(make_encoder(), TOKENIZER, max_length=8)
    return Sparse.build(start.encoder, TOKENIZER, max_length=8, **settings)


@pytest.mark.parametrize("name", FOLDERS)
def test_vectors_are_those_of_sentence_transformers(name, tmp_path):
    task = read_sparse(str(make_folder(name, tmp_path / name)))
    task.save(tmp_path / "saved")
    tasks = [task, keras_bert.load(tmp_path / "saved")]
    for file in ("model.tflite", "model.onnx"):
        task.export(tmp_path / file)
        tasks.append(keras_bert.load(tmp_path / file))
    for other in tasks:
        assert other.settings() == task.settings()
        for prompt, expected in ANSWERS[name].items():
            np.testing.assert_allclose(other.predict(TEXTS, prompt=prompt), expected, atol=1e-5)


def test_head_of_masked_tokens_goes_from_task_to_task(tmp_path):
    folder = make_folder("splade", tmp_path / "splade")
    first = keras_bert.from_hugging_face(folder, task="sparse")  # as a job reads its [checkpoint]
    again = Sparse.build(first.encoder, first.tokenizer, max_length=16)
    dense = Retrieval.build(first.encoder, first.tokenizer, max_length=16)
    new = Sparse.build(dense.encoder, first.tokenizer, max_length=16)
    expected = np.array(ANSWERS["splade"]["passage"])
    for task, is_equal in ((first, True), (again, True), (new, False)):
        assert np.allclose(task.predict(TEXTS), expected, atol=1e-5) == is_equal
    student = keras_bert.distill(first, TEXTS, layers=[0, 1], vectors=expected, steps=1, **QUICK, learning_rate=1e-9)
    np.testing.assert_allclose(student.predict(TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("is_free", [False, True])
def test_training_finds_passages_and_flops_remove_terms(is_free):
    keras.utils.set_random_seed(3)
    weights = {"query_weights": idf_weights(TOKENIZER, PASSAGES)} if is_free else {}
    counts = {}
    for passage_flops in (0.0, 3.0):
        task = sparse(passage_flops=passage_flops, query_flops=0.0, **weights)
        before = task.predict(QUERIES, prompt="query")
        history = keras_bert.fit(task, QUERIES, PASSAGES, epochs=30, learning_rate=1e-2, **QUICK)
        assert history[-1]["loss"] < 0.85 * history[0]["loss"]
        assert np.array_equal(task.predict(QUERIES, prompt="query"), before) == is_free
        counts[passage_flops] = task.term_vectors(PASSAGES, prompt="passage").nnz
    assert counts[3.0] < 0.8 * counts[0.0]
    assert keras_bert.distill(task, QUERIES, PASSAGES, layers=[1], steps=1, **QUICK).settings() == task.settings()


def test_answers_are_terms_and_search_compares_products():
    task = sparse(prompts={"query": "very "})
    vectors = task.predict(PASSAGES, prompt="passage")
    (terms, weights), *_ = task.answer_values(PASSAGES)
    prompted = task.predict(PASSAGES[:1], prompt="query")[0]
    assert weights == pytest.approx(sorted(prompted[prompted > 0], reverse=True)[:10], abs=1e-6)
    assert [prompted[TOKENIZER.vocabulary.index(term)] for term in terms] == pytest.approx(weights, abs=1e-6)
    ((line, _),) = task.answer_fields(PASSAGES[:1])
    assert list(json.loads(line)) == terms
    products = task.predict(QUERIES, prompt="query") @ vectors.T
    np.testing.assert_allclose([score for (score,) in task.answer_values(QUERIES, PASSAGES)], np.diag(products), 1e-5)
    for given in (None, vectors, task.term_vectors(PASSAGES, prompt="passage")):
        ((best, second),) = task.search(QUERIES[:1], PASSAGES, top_k=2, vectors=given)
        assert (best.similarity, best.index) == (pytest.approx(products[0].max(), abs=1e-4), products[0].argmax())
        assert best.similarity >= second.similarity


def test_refuses_settings_that_sparse_vectors_cannot_have():
    with pytest.raises(ValueError, match=r"Sparse.query_weights must hold a weight for each of 12 tokens, got \(3,\)"):
        sparse(query_weights=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"Sparse.query_weights must be at least 0 and finite, got -1.0"):
        sparse(query_weights=-np.ones(12))
    with pytest.raises(ValueError, match=r"Sparse.contrast.dimensions must be left out, .* got \[4\]"):
        sparse(contrast={"dimensions": [4]})
    with pytest.raises(ValueError, match=r"Sparse.passage_flops must be at least 0 and finite, got -1"):
        sparse(passage_flops=-1)
    with pytest.raises(ValueError, match="a number of Sparse vectors belongs to a token"):
        sparse().truncated(4)
    with pytest.raises(ValueError, match="normalize must be False, as in the model's graph, got True"):
        sparse(normalize=True)
    free, options = (
        sparse(query_weights=np.ones(12)),
        {"layers": [1], "imitation": Imitation(hidden_states=1.0), "steps": 1},
    )
    with pytest.raises(ValueError, match="must be left out where states or attention are imitated"):
        keras_bert.distill(free, QUERIES, PASSAGES, **options, **QUICK)
    config = EncoderConfig(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=16, vocabulary_size=12)
    mobile = build_encoder(EncoderConfig(**{**vars(config), "embedding_size": 8, "variant": MobileBERT()}))
    with pytest.raises(ValueError, match=r"build_sparse.encoder must have another variant than mobilebert"):
        Sparse.build(mobile, TOKENIZER)


def test_refuses_a_fitted_vocabulary_where_each_token_has_a_weight(tmp_path):
    tuning_job.write_checkpoint(tmp_path)
    vocabulary, start = Vocabulary(tmp_path / "vocabulary"), Model(tmp_path / "sparse")
    examples = tuning_job.ingest(tmp_path, vocabulary, tuning_job.write_rows(tmp_path, "retrieval"))
    base = keras_bert.load(tmp_path / "model")
    weights = np.ones(base.tokenizer.vocabulary_size)
    Sparse.build(base.encoder, base.tokenizer, max_length=16, query_weights=weights).save(start.path)
    start.seal({})
    made = {"model": Model(tmp_path / "small"), "vocabulary": Vocabulary(tmp_path / "small-vocabulary")}
    with pytest.raises(
        InputError, match=r"^fitted_vocabulary must be left out for this checkpoint: Sparse.query_weigh"
    ):
        fit_vocabulary.run(pretrained=start, examples=examples, **made, size=12)


def test_refuses_folders_with_other_modules(tmp_path):
    folder = make_folder("splade", tmp_path / "splade")
    change_json(folder / "1_SpladePooling" / "config.json", pooling_strategy="sum")
    with pytest.raises(ValueError, match="pooling_strategy must be 'max', got 'sum', which is not supported"):
        read_sparse(str(folder))
    folder = make_folder("router", tmp_path / "router")
    save_file({"weights": WEIGHTS}, folder / QUERY_FOLDER / "model.safetensors")
    with pytest.raises(ValueError, match=r"must hold one tensor, weight, got \['weights'\]"):
        read_sparse(str(folder))
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer", "path": ""}]')
    with pytest.raises(ValueError, match=r"must list an MLMTransformer and a SpladePooling, .* got .*Transformer"):
        read_sparse(str(folder))


def test_a_saved_model_serves_the_texts_that_the_model_reads(tmp_path):
    tf.config.run_functions_eagerly(False)  # a graph that is saved eagerly has operations that no model may have
    assert list(find_signatures(sparse())) == ["serve_query", "serve_passage", "serve_text", "serve_pair"]
    task = sparse(prompts={"query": "very "}, query_weights=idf_weights(TOKENIZER, PASSAGES))
    assert list(find_signatures(task)) == ["serve_passage", "serve_text"]
    file = write_file(task, tmp_path / "saved_model.pb", [8])
    assert check_saved_model(task, file, PASSAGES) < 1e-5
    loaded = keras_bert.load(file)
    for prompt, texts in (("query", QUERIES), ("passage", PASSAGES)):
        np.testing.assert_allclose(loaded.predict(texts, prompt=prompt), task.predict(texts, prompt=prompt), atol=1e-5)


def test_scores_of_a_reranker_are_its_inner_products():
    """They were 20 times as large without a scale, which cosines have."""
    task = sparse()
    expected = np.array([score for (score,) in task.answer_values(QUERIES, PASSAGES)])
    np.testing.assert_allclose(similarities(task)(QUERIES, PASSAGES), expected, rtol=1e-5)
    dense = Retrieval.build(task.encoder, TOKENIZER, max_length=8)
    expected = 20 * np.array([score for (score,) in dense.answer_values(QUERIES, PASSAGES)])
    np.testing.assert_allclose(similarities(dense)(QUERIES, PASSAGES), expected, rtol=1e-4)


def test_refuses_to_explain_a_job_whose_queries_no_model_reads(tmp_path):
    wiring = pytest.importorskip("plugins.explain.wiring")
    free = sparse(query_weights=np.ones(12))
    free.save(tmp_path / "free")
    sparse().save(tmp_path / "read")
    text = "[checkpoint]\npath = '{}'\n[examples]\ntask = '{}'\ntrain = 'rows.tsv'\n"
    for folder, task in (("read", "sparse"), ("free", "retrieval")):
        wiring.check_explainable(load(tmp_path, text.format(tmp_path / folder, task)))
    with pytest.raises(InputError, match=r"^examples.task must be one that can be explained, got 'sparse': Sparse"):
        wiring.check_explainable(load(tmp_path, text.format(tmp_path / "free", "sparse")))
    with pytest.raises(ValueError, match=r"^Sparse.query_weights must be None to be explained, as no model"):
        free.target("film", None, None)
