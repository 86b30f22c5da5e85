"""The shares of hidden tokens in 20 MB of novels. Slow: run with `pytest -m slow`."""

import json
import os
from pathlib import Path

import pytest

from components.artifacts.standard import Corpus, PretrainingExamples, Vocabulary
from components.build_vocabulary import build_vocabulary
from components.ingest_corpus import ingest_corpus
from components.mask_examples import mask_examples
from components.sources.text import TextSource
from keras_bert.options.pretraining import Masking, PretrainingRows

NOVELS = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute() / "corpus" / "novels-20mb.txt"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NOVELS.is_file(), reason="needs BERT_TEST_DATA, a folder with corpus/novels-20mb.txt"),
]


@pytest.fixture(scope="module")
def novels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("novels")
    corpus, vocabulary = Corpus(folder / "corpus"), Vocabulary(folder / "vocabulary")
    ingest_corpus.run(corpus=corpus, source=TextSource(str(NOVELS)))
    build_vocabulary.run(corpus=corpus, vocabulary=vocabulary, size=8000)
    return {"corpus": corpus, "vocabulary": vocabulary}


@pytest.mark.parametrize("strategy", ["tokens", "whole_words", "spans"])
@pytest.mark.parametrize("objective", ["next_sentence", "sentence_order", "none"])
def test_15_percent_and_80_10_10(novels, tmp_path, strategy, objective):
    examples = PretrainingExamples(tmp_path / "examples")
    rows = PretrainingRows(objective=objective)
    mask_examples.run(**novels, examples=examples, masking=Masking(strategy=strategy), rows=rows)
    table = json.loads((examples.path / "statistics.json").read_text())["train, up to 128 tokens"]
    assert table["share of these to predict"] == pytest.approx(0.15, abs=0.001)
    assert table["share of predictions under [MASK]"] == pytest.approx(0.8, abs=0.002)
    assert table["share of predictions under a random token"] == pytest.approx(0.1, abs=0.002)
    assert table["share of predictions left unchanged"] == pytest.approx(0.1, abs=0.002)
    if objective == "sentence_order":
        assert table["share of swapped pairs"] == pytest.approx(0.5, abs=0.01)
    if objective == "next_sentence":
        assert table["share of random next sentences"] == pytest.approx(0.5, abs=0.01)
