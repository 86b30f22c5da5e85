import itertools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from components.artifacts import Corpus, PretrainingExamples, Vocabulary
from components.base import InputError
from components.build_vocabulary import build_vocabulary
from components.ingest_corpus import ingest_corpus, read_shard
from components.mask_examples import mask_examples
from components.masked_shards import tokenize_shard
from components.sentence_pairs import Document, _fill, _truncate, make_pairs, split_sentences
from components.sources import TextSource
from keras_bert.config import Masking
from keras_bert.records import read_features
from keras_bert.tokenizer import Tokenizer

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
    "sigma",
    "tau",
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    documents = [
        "\n".join(
            " ".join(rng.choice(WORDS, rng.integers(3, 15))).capitalize() + "." for _ in range(rng.integers(5, 30))
        )
        for _ in range(40)
    ]
    (folder / "a.txt").write_text("\n\n".join(documents))
    corpus, vocabulary = Corpus(folder / "corpus"), Vocabulary(folder / "vocabulary")
    ingest_corpus(corpus=corpus, source=TextSource(str(folder / "a.txt")))
    build_vocabulary(corpus=corpus, vocabulary=vocabulary, size=60)
    return {"corpus": corpus, "vocabulary": vocabulary}


def read(folder, split):
    kinds = {name: tf.io.VarLenFeature(tf.int64) for name in ("token_ids", "segment_ids", "mask_positions", "mask_ids")}
    kinds["next_sentence_label"] = tf.io.FixedLenFeature([], tf.int64)
    files = sorted(str(file) for file in folder.glob(f"{split}-*.tfrecord"))
    for record in tf.data.TFRecordDataset(files):
        row = tf.io.parse_single_example(record, kinds)
        yield {name: tf.sparse.to_dense(v).numpy() if name[0] != "n" else int(v) for name, v in row.items()}


def test_records(inputs, tmp_path):
    examples = PretrainingExamples(tmp_path / "examples")
    mask_examples(**inputs, examples=examples, max_length=48, duplication=4)
    rows = list(read(examples.path, "train"))
    assert examples.manifest()["counts"]["train"] == len(rows) > 200
    assert read_features(examples.path)["counts"]["validation"] == len(list(read(examples.path, "validation"))) > 5
    assert 0.35 < np.mean([row["next_sentence_label"] for row in rows]) < 0.65
    hidden, chosen, candidates = [], 0, 0
    for row in rows:
        tokens = row["token_ids"].copy()
        hidden += tokens[row["mask_positions"]].tolist()
        tokens[row["mask_positions"]] = row["mask_ids"]
        seps = np.flatnonzero(tokens == 3)
        assert tokens[0] == 2
        assert len(tokens) <= 48
        assert seps.tolist() == [seps[0], len(tokens) - 1]
        assert (row["segment_ids"] == (np.arange(len(tokens)) > seps[0])).all()
        assert (row["mask_ids"] > 4).all()
        chosen += len(row["mask_ids"])
        candidates += (tokens > 4).sum()
    assert 0.14 < chosen / candidates < 0.16
    assert abs(np.mean(np.array(hidden) == 4) - 0.8) < 0.02
    assert not {0, 1, 2, 3}.intersection(hidden)


def test_same_bytes_again_and_other_bytes_for_another_seed(inputs, tmp_path):
    prints = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        examples = PretrainingExamples(tmp_path / name)
        mask_examples(**inputs, examples=examples, seed=seed, max_length=32)
        prints.append(examples.fingerprint())
    assert prints[0] == prints[1] != prints[2]
    assert [file.name for file in sorted((tmp_path / "a").iterdir())] == [
        "features.json",
        "manifest.json",
        "train-00000-of-00001.tfrecord",
        "validation-00000-of-00001.tfrecord",
    ]


def test_same_bytes_with_two_workers(inputs, tmp_path):
    prints = []
    for workers in (1, 2):
        examples = PretrainingExamples(tmp_path / str(workers))
        mask_examples(**inputs, examples=examples, max_length=32, workers=workers)
        prints.append(examples.fingerprint())
    assert prints[0] == prints[1]


def test_held_out_documents_do_not_train(inputs):
    tokenizer = Tokenizer.load(inputs["vocabulary"].path)
    documents = [item for file in sorted(inputs["corpus"].path.glob("*.gz")) for item in read_shard(file.read_bytes())]
    flat, train, validation = tokenize_shard(documents, tokenizer, 0.1)
    assert (len(train), len(validation)) == (36, 4)
    ranges = sorted((d.bounds[0], d.bounds[-1]) for d in train + validation)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(flat)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ranges))
    assert len(tokenize_shard(documents[:2], tokenizer, 0.5)[1]) == 2
    assert not tokenize_shard(documents, tokenizer, 0.0)[2]


def document_of(bounds, position):
    return next(n for n, (start, end) in enumerate(bounds) if start <= position < end)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(5, 30),
    st.integers(0, 1000),
)
def test_pairs(sizes, room, seed):
    documents, start = [], 0
    for part in sizes:
        documents.append(Document(np.cumsum([start, *part])))
        start = int(documents[-1].bounds[-1])
    whole = [(int(d.bounds[0]), int(d.bounds[-1])) for d in documents]
    pairs = make_pairs(documents, documents, room=room, short_share=0.1, rng=np.random.default_rng(seed))
    assert pairs == make_pairs(documents, documents, room=room, short_share=0.1, rng=np.random.default_rng(seed))
    for pair in pairs:
        first, second = pair.first_end - pair.first_start, pair.second_end - pair.second_start
        assert first >= 1
        assert second >= 1
        assert first + second <= room
        same = document_of(whole, pair.first_start) == document_of(whole, pair.second_start)
        assert same == (not pair.is_random)
        if not pair.is_random:
            assert pair.second_start >= pair.first_end
    if len(documents) > 1:
        assert {document_of(whole, pair.first_start) for pair in pairs} == set(range(len(documents)))
    else:
        assert not any(pair.is_random for pair in pairs)


def naive_pairs(documents, others, *, room, short_share, rng):
    """`make_pairs` with the list of the other documents made anew for each."""
    pairs = []
    for document in documents:
        eligible = [number for number, other in enumerate(others) if other is not document]
        start = 0
        while start < document.segments:
            target = int(rng.integers(2, room + 1)) if rng.random() < short_share else room
            end = _fill(document, start, target)
            middle = start + (int(rng.integers(1, end - start)) if end - start > 1 else 1)
            is_random = bool(eligible) and (end - start == 1 or rng.random() < 0.5)
            first = (int(document.bounds[start]), int(document.bounds[middle]))
            if is_random:
                other = others[eligible[int(rng.integers(len(eligible)))]]
                from_segment = int(rng.integers(other.segments))
                until = _fill(other, from_segment, max(1, target - (first[1] - first[0])))
                second = (int(other.bounds[from_segment]), int(other.bounds[until]))
                end = middle
            else:
                second = (int(document.bounds[middle]), int(document.bounds[end]))
            if second[1] > second[0]:
                pairs.append((*_truncate(first, room, second, rng), int(is_random)))
            start = end
    return pairs


@pytest.mark.parametrize("count", [1, 2, 3, 40])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_the_naive_form(count, seed):
    sizes = np.random.default_rng(seed).integers(1, 9, (count, 12))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    documents = [Document(bounds[start : start + 13]) for start in range(0, 12 * count, 12)]
    middle = count // 2
    # The same list, other lists, and a list that holds some of the documents, one of them twice.
    for others in (documents, documents[:middle], [*documents[middle:], *documents[:1], *documents[:1]]):
        made, naive = (
            make(documents, others, room=20, short_share=0.1, rng=np.random.default_rng(seed))
            for make in (make_pairs, naive_pairs)
        )
        assert made == naive


def test_unused_segments_are_put_back():
    documents = [Document(np.arange(0, 41)), Document(np.arange(40, 81))]
    pairs = make_pairs(documents, documents, room=10, short_share=0.0, rng=np.random.default_rng(1))
    covered = set()
    for pair in pairs:
        covered.update(range(pair.first_start, pair.first_end))
        if not pair.is_random:
            covered.update(range(pair.second_start, pair.second_end))
    assert covered == set(range(80))


def test_splits_sentences():
    text = 'He said "Go." Then he (e.g. now) left.\nA line; and more! \u4f60\u597d\u3002\u518d\u89c1\n\n'
    assert split_sentences(text) == [
        'He said "Go."',
        "Then he (e.g. now) left.",
        "A line; and more!",
        "\u4f60\u597d\u3002",
        "\u518d\u89c1",
    ]


def test_too_few_documents(tmp_path, inputs):
    (tmp_path / "a.txt").write_text("Only one document.")
    corpus = Corpus(tmp_path / "corpus")
    ingest_corpus(corpus=corpus, source=TextSource(str(tmp_path / "a.txt")))
    arguments = {"corpus": corpus, "vocabulary": inputs["vocabulary"]}
    with pytest.raises(InputError, match=r"must hold at least 3 documents .* got 1"):
        mask_examples(**arguments, examples=PretrainingExamples(tmp_path / "a"))


@pytest.mark.parametrize(
    ("documents", "split"),
    # Shards of two documents hold none out; nothing but control characters makes no tokens.
    [(["One more here."] * 4, "validation"), (["\x01"] * 4, "train")],
)
def test_no_pair_for_a_split(tmp_path, inputs, monkeypatch, documents, split):
    monkeypatch.setattr("components.ingest_corpus.SHARD_BYTES", 1)
    (tmp_path / "a.txt").write_text("\n\n".join(documents))
    corpus = Corpus(tmp_path / "corpus")
    ingest_corpus(corpus=corpus, source=TextSource(str(tmp_path / "a.txt")))
    with pytest.raises(InputError, match=f"at least one pair of sentences for {split}, got none from 4 documents"):
        mask_examples(
            corpus=corpus, vocabulary=inputs["vocabulary"], examples=PretrainingExamples(tmp_path / "examples")
        )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"max_length": 7}, "max_length must be at least 8, got 7"),
        ({"held_out": 1.0}, r"held_out must be in \(0, 1\), got 1.0"),
        ({"held_out": 0.0}, r"held_out must be in \(0, 1\), got 0.0"),
        ({"duplication": 0}, "duplication must be at least 1, got 0"),
    ],
)
def test_parameters_out_of_range(inputs, tmp_path, bad, message):
    with pytest.raises(ValueError, match=message):
        mask_examples(**inputs, examples=PretrainingExamples(tmp_path / "e"), masking=Masking(), **bad)
