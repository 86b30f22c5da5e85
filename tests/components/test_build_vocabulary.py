import pytest

from components.artifacts.standard import Corpus, Vocabulary
from components.beam.engine import BeamOptions
from components.build_vocabulary import build_vocabulary, learn_entries
from components.corpus.cleaning import Cleaning
from components.corpus.word_counts import count_words
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
    counts = count_words(sorted(corpus.path.glob("*.gz")), True, BeamOptions(), 0, tmp_path)
    assert (counts["the"], counts["cat"], counts["matze"], counts["."]) == (15, 6, 3, 9)
    assert count_words(sorted(corpus.path.glob("*.gz")), False, BeamOptions(), 0, tmp_path)["Mätze"] == 3
    assert not list(tmp_path.iterdir())


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
