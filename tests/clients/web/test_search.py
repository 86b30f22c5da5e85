"""A page that searches texts: results and their order are those of `Embedding.search` over the same int8 vectors."""

import random

import numpy as np
import pytest

from keras_bert.clients.page import PageScore, write_page, write_tokenizers
from keras_bert.clients.search_corpus import embed_corpus
from keras_bert.export.bundle import load_exported
from tests.clients.web.node import ask
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import TYPED, make_task

pytestmark = pytest.mark.web

PROMPTS = {"query": "a great ", "passage": "the plot "}
QUERIES = ["Unbelievable film!", "200% dull", "(s) xyzzy the a-film", "plot"]
RESULTS = 10
FILE = "model_float32.tflite"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    plain = make_task("embedding")
    task = type(plain)(plain.model, plain.tokenizer, max_length=plain.max_length, prompts=PROMPTS)
    made = export_folder(task, tmp_path_factory.mktemp("search"))
    write_tokenizers(made)
    return made


@pytest.fixture(scope="module")
def corpus(folder):
    chance = random.Random(3)
    texts = dict.fromkeys(" ".join(chance.choices(TYPED, k=chance.randint(3, 9))) for _ in range(2000))
    written = embed_corpus(load_exported(folder), list(texts))
    write_page(folder, "films", PageScore("pearson", 0.5, 32), written)
    return written


def test_results_are_those_of_the_library(folder, corpus):
    task = load_exported(folder)
    expected = task.search(QUERIES, corpus.texts, top_k=len(corpus.texts), vectors=corpus.codes)
    codes = corpus.codes.ravel().tolist()
    answers = ask("ask_search.mjs", folder, FILE, given={"texts": corpus.texts, "codes": codes, "queries": QUERIES})
    assert len(corpus.texts) > 1500
    for matches, results in zip(expected, answers, strict=True):
        similarities = [match.similarity for match in matches]
        np.testing.assert_allclose([result["similarity"] for result in results], similarities, atol=1e-5)
        ranks = {match.index: rank for rank, match in enumerate(matches)}
        moved = [ranks[result["index"]] - rank for rank, result in enumerate(results)]
        for rank in np.flatnonzero(moved):
            # Both sum up in another order: neighbors change places where they are as near to the last bits.
            other = rank + moved[rank]
            assert abs(similarities[rank] - similarities[other]) < 1e-6
        assert np.mean(np.equal(moved, 0)) > 0.95
        assert [result["index"] for result in results[:RESULTS]] == [match.index for match in matches[:RESULTS]]


def test_equal_vectors_keep_their_order_and_zeros_are_near_to_nothing(folder):
    texts, codes = ["none", "first", "second"], [0, 0, 127, 10, 127, 10]
    (results,) = ask(
        "ask_search.mjs", folder, FILE, given={"texts": texts, "codes": codes, "queries": [], "vectors": [[1.0, 0.0]]}
    )
    assert [result["text"] for result in results] == ["first", "second", "none"]
    assert results[2]["similarity"] == 0


@pytest.mark.parametrize("dark", [False, True])
def test_a_page_searches_while_one_types(folder, corpus, dark):
    keys = ["ArrowDown", "ArrowDown", "ArrowUp", "Enter", "Escape", "ArrowUp"]
    seen = ask("search_page.mjs", folder / "index.html", given={"queries": QUERIES, "keys": keys, "dark": dark})
    assert seen["asked"] == seen["errors"] == []
    assert seen["labels"] == ["Search"]
    for matches, answer in zip(
        load_exported(folder).search(QUERIES, corpus.texts, top_k=RESULTS, vectors=corpus.codes),
        seen["found"],
        strict=True,
    ):
        assert [result["text"] for result in answer["results"]] == [match.text for match in matches]
        similarities = [result["similarity"] for result in answer["results"]]
        np.testing.assert_allclose(similarities, [match.similarity for match in matches], atol=6e-4)
    first, second = (result["text"] for result in seen["found"][-1]["results"][:2])
    assert [step["text"] for step in seen["steps"]] == [first, second, first, first, QUERIES[-1], QUERIES[-1]]
    assert [step["expanded"] for step in seen["steps"][:4]] == ["false", "false", "false", "true"]
    assert len(set(seen["colors"])) == 1, "results have the color of the text, in the light and in the dark"


def test_integers_are_multiplied_exactly():
    assert (
        ask("multiply_integers.mjs", given=[[1, 1, 1], [3, 5, 9], [2, 4, 8], [16, 3, 384], [32, 96, 1536]]) == [0] * 5
    )
