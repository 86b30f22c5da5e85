import gzip
import itertools
import json
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from components.artifacts.standard import Corpus, PretrainingExamples, Vocabulary
from components.beam.engine import BeamOptions
from components.build_vocabulary import build_vocabulary
from components.corpus.shards import read_cut_documents, read_sentences
from components.dsl.errors import InputError
from components.ingest_corpus import ingest_corpus
from components.mask_examples import mask_examples
from components.rows.masked_shards import MaskShardFn, ShardJob, tokenize_shard
from components.sources.text import TextSource
from keras_bert.data.pretraining_batches import pretraining_batches
from keras_bert.data.records import read_features, read_serialized
from keras_bert.options.pretraining import Masking, PretrainingRows
from keras_bert.tokenizers.loading import load_tokenizer

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau".split()


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
    ingest_corpus.run(corpus=corpus, source=TextSource(str(folder / "a.txt")))
    build_vocabulary.run(corpus=corpus, vocabulary=vocabulary, size=60)
    return {"corpus": corpus, "vocabulary": vocabulary}


def make(inputs, folder, *, max_length=48, masking=Masking(), seed=0, **rows):
    examples = PretrainingExamples(folder)
    mask_examples.run(
        **inputs, examples=examples, masking=masking, rows=PretrainingRows(**rows), max_length=max_length, seed=seed
    )
    return examples


def read(folder, split, compression="none"):
    names = ("token_ids", "segment_ids", "mask_positions", "mask_ids", "next_sentence_label")
    files = sorted(str(file) for file in folder.glob(f"{split}-*.tfrecord"))
    for record in read_serialized(files, compression):
        features = tf.train.Example.FromString(record.numpy()).features.feature
        assert set(features) <= set(names)
        yield {name: np.array(feature.int64_list.value) for name, feature in features.items()}


@pytest.mark.parametrize("strategy", ["tokens", "whole_words", "spans"])
@pytest.mark.parametrize("objective", ["next_sentence", "sentence_order"])
def test_records(inputs, tmp_path, strategy, objective):
    masking = Masking(strategy=strategy)
    examples = make(inputs, tmp_path / "examples", masking=masking, objective=objective, duplication=4)
    rows = list(read(examples.path, "train"))
    assert examples.manifest()["counts"]["train"] == len(rows) > 200
    counts = read_features(examples.path)["lengths"][0]["counts"]
    assert counts == {"train": len(rows), "validation": len(list(read(examples.path, "validation")))}
    assert counts["validation"] > 5
    assert 0.35 < np.mean([row["next_sentence_label"][0] for row in rows]) < 0.65
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
    assert abs(np.mean(np.array(hidden) == 4) - 0.8) < 0.04
    assert not {0, 1, 2, 3}.intersection(hidden)
    check_statistics(examples, rows, hidden, chosen, candidates)


def check_statistics(examples, rows, hidden, chosen, candidates):
    statistics = json.loads((examples.path / "statistics.json").read_text())
    table = statistics["train, up to 48 tokens"]
    assert table["rows"] == len(rows)
    assert table["tokens"] == sum(len(row["token_ids"]) for row in rows)
    assert table["tokens that may be masked"] == candidates
    assert table["share of these to predict"] == pytest.approx(chosen / candidates, abs=1e-6)
    assert table["share of predictions under [MASK]"] == pytest.approx(np.mean(np.array(hidden) == 4), abs=1e-6)
    shares = [value for label, value in table.items() if "share of predictions" in label]
    assert sum(shares) == pytest.approx(1, abs=3e-6)
    labels = [value for label, value in table.items() if "pairs" in label or "next sentences" in label]
    assert labels == [pytest.approx(np.mean([row["next_sentence_label"][0] for row in rows]), abs=1e-6)]
    assert sum(count for _, count in statistics["train, up to 48 tokens: tokens a row"]) == len(rows)
    assert sum(count for _, count in statistics["train, up to 48 tokens: predictions a row"]) == len(rows)
    assert statistics["validation, up to 48 tokens"]["rows"] > 0


def test_full_sentences_without_pairs(inputs, tmp_path):
    examples = make(inputs, tmp_path / "examples", objective="none", short_share=0.0)
    rows = list(read(examples.path, "train"))
    assert {"next_sentence_label"} & set(rows[0]) == set()
    seps, tokens = 0, 0
    for row in rows:
        original = row["token_ids"].copy()
        original[row["mask_positions"]] = row["mask_ids"]
        assert original[0] == 2
        assert original[-1] == 3
        assert not row["segment_ids"].any()
        seps += (original[1:-1] == 3).sum()
        tokens += (original != 3).sum() - 1
    documents = [
        item for file in sorted(inputs["corpus"].path.glob("corpus-*.gz")) for item in read_sentences(file.read_bytes())
    ]
    texts = tokenize_shard(documents, load_tokenizer(inputs["vocabulary"].path), 0.05)
    assert tokens == sum(document.bounds[-1] - document.bounds[0] for document in texts.splits["train"])
    assert 5 < seps < len(texts.splits["train"])
    assert set(pretraining_batches(examples.path, "train", 4).epoch().element_spec) == {
        *("token_ids", "segment_ids", "padding_mask", "mask_positions", "mask_ids", "mask_weights")
    }


def test_two_lengths(inputs, tmp_path):
    masking = Masking(max_predictions=12)
    examples = make(inputs, tmp_path / "examples", masking=masking, max_length=64, short_length=16, compression="gzip")
    names = {"-".join(file.name.split("-")[:2]) for file in examples.path.glob("*.tfrecord")}
    assert names == {"train-16", "train-64", "validation-16", "validation-64"}
    for length, predictions in ((16, 3), (64, 12), (None, 12)):
        batch = next(iter(pretraining_batches(examples.path, "train", 4, length=length).epoch()))
        assert batch["token_ids"].shape == (4, length or 64)
        assert batch["mask_ids"].shape == (4, predictions)
    assert {"train, up to 16 tokens", "train, up to 64 tokens"} <= set(
        json.loads((examples.path / "statistics.json").read_text())
    )


def test_dynamic_rows_are_the_static_ones_without_masks(inputs, tmp_path):
    fixed, free = (make(inputs, tmp_path / name, dynamic=name == "free") for name in ("fixed", "free"))
    for masked, row in zip(read(fixed.path, "train"), read(free.path, "train"), strict=True):
        masked["token_ids"][masked["mask_positions"]] = masked["mask_ids"]
        assert set(row) == {"token_ids", "segment_ids", "next_sentence_label"}
        for name, values in row.items():
            np.testing.assert_array_equal(values, masked[name])
    specs = [pretraining_batches(examples.path, "train", 4).epoch().element_spec for examples in (fixed, free)]
    assert specs[0] == specs[1]
    statistics = json.loads((free.path / "statistics.json").read_text())
    assert "share of these to predict" not in statistics["train, up to 48 tokens"]


def test_same_bytes_again_and_other_bytes_for_another_seed(inputs, tmp_path):
    prints = [
        make(inputs, tmp_path / name, seed=seed, max_length=32).fingerprint()
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert prints[0] == prints[1] != prints[2]
    assert [file.name for file in sorted((tmp_path / "a").iterdir())] == [
        "features.json",
        "manifest.json",
        "samples.json",
        "statistics.json",
        "train-32-00000-of-00001.tfrecord",
        "validation-32-00000-of-00001.tfrecord",
    ]


@pytest.mark.long
def test_same_bytes_with_two_workers(inputs, tmp_path):
    prints = []
    for workers in (1, 2):
        examples = PretrainingExamples(tmp_path / str(workers))
        mask_examples.run(**inputs, examples=examples, max_length=32, beam=BeamOptions(workers=workers))
        prints.append(examples.fingerprint())
    assert prints[0] == prints[1]


def test_a_shard_that_is_made_twice_is_the_same(inputs, tmp_path):
    job = ShardJob(
        tokenizer=str(inputs["vocabulary"].path),
        output=str(tmp_path / "output"),
        scratch=str(tmp_path / "scratch"),
        maskings={32: Masking()},
        rows=PretrainingRows(),
        seed=0,
        shards=1,
    )
    contents = []
    for _ in range(2):
        for folder in ("output", "scratch"):
            (tmp_path / folder).mkdir(exist_ok=True)
        step = MaskShardFn(job)
        step.setup()
        step.start_bundle()
        assert not list(step.process(str(next(inputs["corpus"].path.glob("corpus-*.gz")))))
        contents.append({file.name: file.read_bytes() for file in sorted(tmp_path.rglob("*")) if file.is_file()})
    assert contents[0] == contents[1]
    assert len(contents[0]) == 6, (
        "two files of records, samples, a tally, a mark that the shard is done, and how many there are"
    )


def test_held_out_documents_do_not_train(inputs):
    tokenizer = load_tokenizer(inputs["vocabulary"].path)
    documents = [
        item for file in sorted(inputs["corpus"].path.glob("corpus-*.gz")) for item in read_sentences(file.read_bytes())
    ]
    flat, splits = tokenize_shard(documents, tokenizer, 0.1)
    assert (len(splits["train"]), len(splits["validation"])) == (36, 4)
    ranges = sorted((d.bounds[0], d.bounds[-1]) for d in splits["train"] + splits["validation"])
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(flat)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ranges))
    assert len(tokenize_shard(documents[:2], tokenizer, 0.5).splits["train"]) == 2
    assert not tokenize_shard(documents, tokenizer, 0.0).splits["validation"]


def test_all_of_a_long_document_is_on_one_side(tmp_path, monkeypatch, inputs):
    monkeypatch.setattr("components.ingest_corpus.SHARD_BYTES", 75_000)
    rng = np.random.default_rng(0)
    documents = ["\n".join(" ".join(rng.choice(WORDS, 12)) + f" {word}." for _ in range(1000)) for word in WORDS[:10]]
    short = [f"{' '.join(rng.choice(WORDS, 12))}." for _ in range(30)]
    corpus = Corpus(tmp_path / "corpus")
    (tmp_path / "a.txt").write_text("\n\n".join([*documents, *short]))
    ingest_corpus.run(corpus=corpus, source=TextSource(str(tmp_path / "a.txt")))
    assert corpus.manifest()["counts"]["shards"] > 5
    assert {count for _, count in read_cut_documents(corpus)} == {2}
    examples = PretrainingExamples(tmp_path / "examples")
    rows = PretrainingRows(objective="none", dynamic=True, held_out=0.2)
    mask_examples.run(**inputs | {"corpus": corpus}, examples=examples, rows=rows, max_length=512)
    tokenizer = load_tokenizer(inputs["vocabulary"].path)
    ends = tokenizer.tokenize([f"{word}." for word in WORDS[:10]]).to_list()
    ends_by_split = {split: read_ends(examples.path, split, ends) for split in ("train", "validation")}
    assert (len(ends_by_split["train"]), len(ends_by_split["validation"])) == (8, 2)
    assert ends_by_split["train"].isdisjoint(ends_by_split["validation"])
    counts = examples.manifest()["counts"]
    assert 0.15 < counts["validation"] / sum(counts.values()) < 0.25


def read_ends(folder, split, ends):
    """Which of the words that end the sentences of a document end many."""
    counts = Counter(
        place
        for row in read(folder, split)
        for place, end in enumerate(ends)
        for start in range(len(row["token_ids"]) - len(end) + 1)
        if row["token_ids"][start : start + len(end)].tolist() == end
    )
    return {place for place, count in counts.items() if count > 500}


def corpus_of(folder, *shards):
    """A corpus by hand, for texts that a corpus seldom holds."""
    corpus = Corpus(folder)
    folder.mkdir()
    for number, texts in enumerate(shards):
        lines = [json.dumps({"id": f"{number}/{place}", "text": text}) + "\n" for place, text in enumerate(texts)]
        file = corpus.file(f"corpus-{number:05d}-of-{len(shards):05d}.jsonl.gz")
        file.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    corpus.counts = {"documents": sum(map(len, shards)), "bytes": 1000}
    corpus.seal({})
    return corpus


@pytest.mark.parametrize(
    ("shards", "message"),
    [
        ([["Only one document."]], r"must hold at least 3 documents .* got 1"),
        # Shards of two documents hold none out; nothing but control characters makes no tokens.
        ([["One more here."] * 2] * 2, "at least one row for validation, got none from 4 documents"),
        ([["\x01"] * 2] * 2, "at least one row for train, got none from 4 documents"),
    ],
)
def test_a_corpus_that_is_too_small(tmp_path, inputs, shards, message):
    arguments = {"corpus": corpus_of(tmp_path / "corpus", *shards), "vocabulary": inputs["vocabulary"]}
    with pytest.raises(InputError, match=message):
        mask_examples.run(**arguments, examples=PretrainingExamples(tmp_path / "examples"))
