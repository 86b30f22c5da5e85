from collections import Counter

import numpy as np
import pytest

from components.artifacts.standard import Corpus, Vocabulary
from components.beam.engine import BeamOptions
from components.build_vocabulary import build_vocabulary, learn_entries
from components.corpus.cleaning import Cleaning
from components.corpus.word_counts import add_counts, count_words, keep_frequent
from components.dsl.errors import InputError
from components.ingest_corpus import ingest_corpus
from components.sources.text import TextSource
from keras_bert.tokenizers.loading import load_tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

TEXT = "The cat sat on the mat.\nThe cats sang, the Mätze sing.\n\nA singer sings; the cat listens.\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "a.txt").write_text(TEXT * 3)
    corpus = Corpus(folder / "corpus")
    all_of_it = Cleaning(exact_duplicates=False, near_duplicates=False)
    ingest_corpus.run(corpus=corpus, source=TextSource(str(folder / "a.txt")), cleaning=all_of_it)
    return corpus


def test_counts_words(corpus, tmp_path):
    counts, words, error = count_words(sorted(corpus.path.glob("*.gz")), True, BeamOptions(), 0, tmp_path)
    assert (words, error) == (len(counts), 0)
    assert (counts["the"], counts["cat"], counts["matze"], counts["."]) == (15, 6, 3, 9)
    assert count_words(sorted(corpus.path.glob("*.gz")), False, BeamOptions(), 0, tmp_path).counts["Mätze"] == 3
    assert not list(tmp_path.iterdir())


def test_a_sum_in_bounded_memory_misses_at_most_its_error():
    rng = np.random.default_rng(0)
    parts = [Counter(map(str, rng.zipf(1.3, 500).tolist())) for _ in range(40)]
    exact = add_counts(parts, 10_000)
    assert (exact.counts, exact.error) == (sum(parts, Counter()), 0)
    sums = add_counts(parts, 100)
    missing = {word: count - sums.counts.get(word, 0) for word, count in exact.counts.items()}
    assert 0 < max(missing.values()) <= sums.error < 40 * 3
    assert min(missing.values()) == missing["1"] == 0
    assert len(sums.counts) <= 200


def test_the_most_frequent_words_and_the_first_of_equals():
    assert keep_frequent({"b": 2, "a": 2, "c": 5, "d": 1}, 2) == ({"c": 5, "a": 2}, 2)
    assert keep_frequent({"b": 2}, 2) == ({"b": 2}, 0)


def test_a_vocabulary_of_the_most_frequent_words_alone(corpus, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("components.corpus.word_counts._BUCKETS", 1)
    monkeypatch.setattr("components.corpus.word_counts._MOST_GROUPS", 1)
    monkeypatch.setattr("components.corpus.word_counts._MOST_WORDS", 4)
    shards = sorted(corpus.path.glob("corpus-*.gz"))
    counts, words, error = count_words(shards, True, BeamOptions(), 0, tmp_path)
    assert counts == {"the": 15, ".": 9, "cat": 6, ",": 3}
    assert (words, error) == (16, 0)
    monkeypatch.setattr("components.corpus.word_counts._MOST_ADDED", 7)
    build_vocabulary.run(corpus=corpus, vocabulary=Vocabulary(tmp_path / "v"), size=21)
    assert "counts of words may be up to 3 too low" in caplog.text


def test_learns_exactly_the_size_twice_the_same(corpus, tmp_path):
    made = []
    for name in "ab":
        made.append(Vocabulary(tmp_path / name))
        build_vocabulary.run(corpus=corpus, vocabulary=made[-1], size=50)
    assert made[0].fingerprint() == made[1].fingerprint()
    tokenizer = load_tokenizer(made[0].path)
    assert tokenizer.vocabulary_size == 50
    assert tokenizer.vocabulary[:5] == SPECIAL_TOKENS
    assert {"the", "cat"} < set(tokenizer.vocabulary)
    assert tokenizer.unknown_id not in tokenizer.tokenize([TEXT]).flat_values.numpy()


def test_size_out_of_reach(corpus, tmp_path):
    with pytest.raises(InputError, match=r"vocabulary\.size must be at most \d+ for this corpus, got 8000"):
        build_vocabulary.run(corpus=corpus, vocabulary=Vocabulary(tmp_path / "v"), size=8000)
    with pytest.raises(InputError, match=r"vocabulary\.size must be at least 11 for this corpus, got 8"):
        learn_entries({"ab": 3, "ba": 3}, 8, ("[A]", "[B]", "[C]", "[D]", "[E]", "[F]", "[G]"))
    with pytest.raises(InputError, match=r"^vocabulary\.size must be at least 261 for these texts, got 100$"):
        build_vocabulary.run(corpus=corpus, vocabulary=Vocabulary(tmp_path / "v"), kind="bpe", size=100)


def test_the_named_maximum_is_the_maximum():
    counts = {f"{first}{second}": 3 + len(first) for first in ("one", "two", "three") for second in ("s", "ing", "")}
    with pytest.raises(InputError, match="at most") as caught:
        learn_entries(counts, 5000, SPECIAL_TOKENS)
    most = int(str(caught.value).split("at most ")[1].split()[0])
    pieces = learn_entries(counts, most, SPECIAL_TOKENS)
    assert len(pieces) == len(set(pieces)) == most


@pytest.mark.parametrize(("kind", "size"), [("bpe", 290), ("unigram", 28)])
def test_other_pieces(corpus, tmp_path, kind, size):
    made = []
    for name in "ab":
        made.append(Vocabulary(tmp_path / name))
        build_vocabulary.run(corpus=corpus, vocabulary=made[-1], kind=kind, size=size)
    # Of unigram, ties are the trainer's chance, and so few words have many.
    assert kind == "unigram" or made[0].fingerprint() == made[1].fingerprint()
    tokenizer = load_tokenizer(made[0].path)
    assert (tokenizer.kind, tokenizer.vocabulary_size) == (kind, size)
    assert tokenizer.tokenize(["THE CAT"]).to_list() == tokenizer.tokenize(["the cat"]).to_list()
    # Bytes cover everything; single characters are left out of a unigram as small as this.
    assert kind == "unigram" or tokenizer.unknown_id not in tokenizer.tokenize([TEXT]).flat_values.numpy()
    with pytest.raises(InputError, match=r"^vocabulary\.size must be at most \d+ for these texts, got 8000$"):
        build_vocabulary.run(corpus=corpus, vocabulary=Vocabulary(tmp_path / "v"), kind=kind, size=8000)
