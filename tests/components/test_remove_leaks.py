"""Test rows in the corpus: planted ones are found, exactly or nearly, counted, refused, or removed and nothing else."""

import gzip
import json
import random
import unicodedata

import pytest

from components.artifacts.standard import Corpus, TaskExamples, Vocabulary
from components.beam.engine import BeamOptions
from components.corpus.shards import read_sentences
from components.dsl.errors import InputError
from components.examples.held_out_texts import HeldOutTexts
from components.ingest_corpus import ingest_corpus
from components.remove_leaks import remove_leaks
from components.sources.table import TableSource
from components.sources.text import TextSource
from keras_bert.data.records import read_features
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.components.labelled_rows import ingest_source, read_source_rows

# Longer than any abbreviation, whose full stop ends no sentence.
WORDS = [
    f"{first}{second}ssel" for first in ("ba", "du", "fi", "go", "ke", "lo", "mi", "nu") for second in "abcdefghijklm"
]
ROWS = 200


def draw_sentence(chance):
    return " ".join(chance.choices(WORDS, k=chance.randint(10, 16))).capitalize() + "."


def change_word(text, chance):
    """The text with another word instead of one; sentences end where they did."""
    words = text.split()
    place = chance.randrange(len(words))
    words[place] = "other." if words[place].endswith(".") else "other"
    return " ".join(words)


class Data:
    """A corpus of 60 documents with planted texts of test rows, and the rows.

    Attributes:
        rows: the test rows; the first fifth stands in the corpus, the second fifth nearly, the rest not at all.
    """

    def __init__(self, folder):
        chance = random.Random(0)
        # Of two sentences each fourth, so that neighbours in a document are compared, too.
        count = [2 if number % 4 == 0 else 1 for number in range(ROWS)]
        self.rows = [" ".join(draw_sentence(chance) for _ in range(sentences)) for sentences in count]
        planted = [text.upper() for text in self.rows[: ROWS // 5]]
        planted += [change_word(text, chance) for text in self.rows[ROWS // 5 : 2 * ROWS // 5]]
        self.clean = [[draw_sentence(chance) for _ in range(8)] for _ in range(60)]
        documents = [list(document) for document in self.clean]
        for text in planted:
            document = documents[chance.randrange(len(documents) - 1)]
            document.insert(chance.randrange(len(document) + 1), text)
        # The last document is a test row and nothing else.
        documents.append([planted[0]])
        self.corpus_file = folder / "texts.txt"
        self.corpus_file.write_text("\n\n".join(" ".join(document) for document in documents))
        labels = ("a", "b")
        self.tables = {}
        further = {split: [draw_sentence(chance) for _ in range(20)] for split in ("train", "validation")}
        for split, texts in {**further, "test": self.rows}.items():
            lines = (f"{text}\t{labels[number % 2]}\n" for number, text in enumerate(texts))
            self.tables[split] = folder / f"{split}.tsv"
            self.tables[split].write_text("text\tlabel\n" + "".join(lines))

    def source(self, **settings):
        train, validation, test = (str(self.tables[split]) for split in ("train", "validation", "test"))
        return TableSource(train, validation=validation, test=test, **settings)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def corpus(data, tmp_path_factory):
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    ingest_corpus.run(corpus=corpus, source=TextSource(str(data.corpus_file)))
    return corpus


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    vocabulary = Vocabulary(tmp_path_factory.mktemp("vocabulary"))
    Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True).save(vocabulary.path)
    vocabulary.seal({})
    return vocabulary


def sentences_of(corpus):
    shards = sorted(corpus.path.glob("corpus-*.jsonl.gz"))
    return [text for shard in shards for document in read_sentences(shard.read_bytes()) for text in document.sentences]


def ingest(folder, vocabulary, corpus, source):
    return ingest_source(TaskExamples(folder / "examples"), vocabulary, source, max_length=32, corpus=corpus)


def test_planted_rows_are_counted(tmp_path, data, corpus, vocabulary):
    content = read_features(ingest(tmp_path, vocabulary, corpus, data.source()).path)
    assert content["overlap"]["test"]["corpus"] == ROWS // 5
    assert content["near_overlap"]["test"]["corpus"] >= 0.95 * ROWS // 5
    assert content["near_overlap"]["test"]["corpus"] <= ROWS // 5, "rows that were not planted were found"
    assert content["overlap"]["validation"]["corpus"] == content["near_overlap"]["validation"]["corpus"] == 0


def test_without_near_texts_equal_ones_alone_are_counted(tmp_path, data, corpus, vocabulary):
    examples = ingest(tmp_path, vocabulary, corpus, data.source(near_overlap="off"))
    content = read_features(examples.path)
    assert content["overlap"]["test"]["corpus"] == ROWS // 5
    assert content["near_overlap"] == {}
    assert examples.counts["test_in_corpus"] == ROWS // 5


def test_without_a_corpus_nothing_is_said_of_it(tmp_path, data, vocabulary):
    content = read_features(ingest(tmp_path, vocabulary, None, data.source()).path)
    assert "corpus" not in content["overlap"]["test"]


@pytest.mark.parametrize(("setting", "word"), [("overlap", ""), ("near_overlap", "nearly ")])
def test_rows_in_the_corpus_are_refused(tmp_path, data, corpus, vocabulary, setting, word):
    with pytest.raises(InputError) as error:
        ingest(tmp_path, vocabulary, corpus, data.source(**{setting: "error"}))
    assert str(error.value) == (
        f"examples.{setting} is 'error', and 40 test rows have {word}their texts in the corpus; "
        f"remove them, or set examples.{setting} to 'drop' or 'keep'"
    )


@pytest.mark.parametrize(
    ("settings", "equal", "near"),
    [
        ({"overlap": "drop"}, 0, ROWS // 5),
        ({"near_overlap": "drop"}, ROWS // 5, 0),
        ({"overlap": "drop", "near_overlap": "drop"}, 0, 0),
    ],
)
def test_rows_are_removed_from_the_corpus_and_nothing_else(tmp_path, data, corpus, vocabulary, settings, equal, near):
    cleaned = Corpus(tmp_path / "cleaned")
    remove_leaks.run(corpus=corpus, rows=read_source_rows(tmp_path / "rows", data.source(**settings)), cleaned=cleaned)
    content = read_features(ingest(tmp_path, vocabulary, cleaned, data.source()).path)
    assert (content["overlap"]["test"]["corpus"], content["near_overlap"]["test"]["corpus"]) == (equal, near)
    left = sentences_of(cleaned)
    assert {text for document in data.clean for text in document} <= set(left)
    counts = cleaned.counts
    assert counts["sentences"] == len(left) == len(sentences_of(corpus)) - counts["removed_sentences"]
    assert counts["documents"] == (60 if "overlap" in settings else 61)
    statistics = cleaned.read_json("statistics.json")
    assert statistics["texts of validation and test rows"]["sentences removed"] == counts["removed_sentences"] > 0
    for shard in cleaned.path.glob("corpus-*.jsonl.gz"):
        for line in gzip.decompress(shard.read_bytes()).decode().splitlines():
            record = json.loads(line)
            assert sum(record["sentences"]) == len(record["text"]) == len(record["text"].strip())


def test_neither_engine_nor_workers_change_a_byte(tmp_path, data, monkeypatch):
    monkeypatch.setattr("components.ingest_corpus.SHARD_BYTES", 8_000)
    corpus = Corpus(tmp_path / "corpus")
    ingest_corpus.run(corpus=corpus, source=TextSource(str(data.corpus_file)))
    shards = corpus.counts["shards"]
    assert shards > 4, "each worker has several"
    source, cleaned = data.source(overlap="drop", near_overlap="drop"), list[Corpus]()
    rows = read_source_rows(tmp_path / "rows", source)
    for beam in (BeamOptions(workers=1), BeamOptions(workers=2), BeamOptions(runner="BundleBasedDirectRunner")):
        cleaned.append(Corpus(tmp_path / f"cleaned-{len(cleaned)}"))
        remove_leaks.run(corpus=corpus, rows=rows, cleaned=cleaned[-1], beam=beam)
        assert cleaned[-1].counts == cleaned[0].counts
        assert cleaned[-1].fingerprint() == cleaned[0].fingerprint()
    assert {path.name for path in cleaned[0].path.iterdir()} == {
        *(path.name for path in corpus.path.glob("corpus-*.jsonl.gz")),
        *("manifest.json", "statistics.json"),
    }, "no file of a worker stays"
    assert cleaned[0].counts["removed_sentences"] > 0


def test_a_corpus_of_test_rows_alone_is_refused(tmp_path, data):
    file = tmp_path / "rows.txt"
    file.write_text("\n\n".join(data.rows))
    corpus, cleaned = Corpus(tmp_path / "corpus"), Corpus(tmp_path / "cleaned")
    ingest_corpus.run(corpus=corpus, source=TextSource(str(file)))
    rows = read_source_rows(tmp_path / "rows", data.source(overlap="drop"))
    with pytest.raises(
        InputError, match="the corpus must hold a sentence that no validation or test row has, got none"
    ):
        remove_leaks.run(corpus=corpus, rows=rows, cleaned=cleaned)


def test_a_text_of_several_sentences_is_found_among_others():
    long = "One two three four. Five six seven eight nine."
    texts = HeldOutTexts([long, "Ten eleven twelve.", "Yes. No."], near=True)
    sentences = ["Before it.", "One two three four.", "Five six seven eight nine.", "TEN eleven  twelve.", "After it."]
    matches = [(match.sentences, set(match.equal)) for match in texts.find_matches(sentences) if match.equal]
    assert matches == [(range(1, 3), {0}), (range(3, 4), {1})]
    (near,) = texts.find_matches(["One two three four.", "Five six seven eight ten."])
    assert near == (range(2), frozenset(), frozenset([0]))
    assert [match.sentences for match in texts.find_matches(["Oh.", "Yes.", "No."]) if match.equal] == [range(1, 3)]


@pytest.mark.parametrize(
    ("texts", "near", "sentences", "expected"),
    [
        # Sentences that end elsewhere hide no text.
        (
            *(["One two three four five six seven eight."], False),
            ["So it was.", "And one two three four five six", "seven eight, as nobody thought.", "The end."],
            [(range(1, 3), {0})],
        ),
        # A short text is a whole sentence, without its punctuation.
        (["A good film."], True, ["It is a good film.", "a GOOD film."], [(range(1, 2), {0})]),
        (["“A good (film)!”", "..."], False, ["A good film?", "???", "…"], [(range(1), {0}), (range(2, 3), {1})]),
    ],
)
def test_texts_are_found_in_sentences(texts, near, sentences, expected):
    matches = HeldOutTexts(texts, near=near).find_matches(sentences)
    assert [(match.sentences, set(match.equal)) for match in matches] == expected


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("words", [3, 9])
def test_a_text_in_another_form_is_found(words, near):
    text = " ".join(["Tiếng", "Việt", "l\u2019été", "한국어", "Fluß", "γλώσσα", "co-op", "film", "good"][:words]) + "."
    others = [unicodedata.normalize("NFD", text), text.upper().replace("\u2019", "'"), text.replace("t", "t\u00ad")]
    texts = HeldOutTexts([text], near=near)
    for other in others:
        (match, *_) = texts.find_matches(["Before it.", other, "After it."])
        assert (match.sentences, set(match.equal)) == (range(1, 2), {0})
