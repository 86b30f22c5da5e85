"""Shards of so few words that every row can be written down."""

import gzip
import hashlib
import json

import numpy as np
import pytest
import tensorflow as tf

from components.corpus.shards import ShardDocument
from components.rows import masked_shards
from components.rows.masked_shards import (
    ShardJob,
    TokenizedShard,
    columns_of,
    make_records,
    make_rows,
    tokenize_shard,
    write_shard,
)
from components.rows.row_layout import TokenRows
from components.rows.sentence_pairs import SegmentBounds
from components.rows.statistics import add
from keras_bert.data.records import read_serialized
from keras_bert.masking.masks import Masked, masking_vocabulary
from keras_bert.options.pretraining import Masking, PretrainingRows
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

# [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, a 5, b 6, ... h 12, ##b 13
VOCABULARY = (*SPECIAL_TOKENS, *"abcdefgh", "##b")


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(VOCABULARY, lowercase=True)


def job_of(folder=None, seed=0, length=8, **rows):
    output, scratch = (str(folder / name) if folder else "" for name in ("output", "scratch"))
    masking = Masking(rate=0.4, max_predictions=4)
    return ShardJob("", output, scratch, {length: masking}, PretrainingRows(**rows), seed, shards=1)


def texts_of(train, validation=None):
    """A shard whose tokens are a, b, c and so on, again and again."""
    last = max((bounds[-1] for bounds in [*train, *(validation or [])]), default=0)
    flat = np.resize(np.arange(5, 13, dtype=np.int32), last)
    splits = {"train": train, "validation": validation or []}
    return TokenizedShard(
        flat, {split: [SegmentBounds(np.array(bounds)) for bounds in part] for split, part in splits.items()}
    )


def ranges_of(texts):
    return {split: [document.bounds.tolist() for document in part] for split, part in texts.splits.items()}


def rows_of(texts, split, tokenizer, length=8, **options):
    """The tokens of each row, without padding."""
    settings = PretrainingRows(**{"short_share": 0.0, **options})
    parts = make_rows(texts, split, length, tokenizer, settings, np.random.default_rng(0))
    return [row[:count].tolist() for rows in parts for row, count in zip(rows.token_ids, rows.lengths, strict=True)]


def records_of(texts, split, tokenizer, job, place="0"):
    counted = []
    length = next(iter(job.maskings))
    made = list(make_records(texts, split, length, place, tokenizer, masking_vocabulary(tokenizer), job, counted))
    return made, add(counted)


def parse(record):
    features = tf.train.Example.FromString(record).features.feature
    return {name: list(feature.int64_list.value) for name, feature in features.items()}


def test_a_shard_in_tokens_by_hand(tokenizer):
    # Neither a sentence nor a document of nothing but a character that is dropped is there.
    documents = [("x", ["A b.", "cb"]), ("y", ["d", "\x00", "é e"]), ("z", ["\x00"]), ("ü", [])]
    for without_text in ([], [ShardDocument("x", [])], [ShardDocument("x", ["\x00"])]):
        texts = tokenize_shard(without_text, tokenizer, 0.5)
        assert (texts.flat.tolist(), texts.splits) == ([], {"train": [], "validation": []})
    texts = tokenize_shard([ShardDocument(*document) for document in documents], tokenizer, 0.1)
    assert texts.flat.tolist() == [5, 6, 1, 7, 13, 8, 9, 9]
    ranges = ranges_of(texts)
    assert sorted(ranges["train"] + ranges["validation"]) == [[0, 3, 5], [5, 6, 8]]


@pytest.mark.parametrize(
    ("count", "share", "held"), [(1, 0.9, 0), (2, 0.9, 0), (3, 0.9, 1), (3, 0.01, 1), (20, 0.1, 2), (20, 0.11, 3)]
)
def test_documents_with_the_smallest_hashes_are_held_out_wherever_they_stand(tokenizer, count, share, held):
    names = [f"ü{number}" for number in range(count)]
    hashes = {name: hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names}
    expected = sorted(names, key=hashes.__getitem__)[:held]
    for ordered in (names, names[::-1]):
        held_out = ranges_of(tokenize_shard([ShardDocument(name, ["a"]) for name in ordered], tokenizer, share))
        assert [ordered[start] for start, _ in held_out["validation"]] == [name for name in ordered if name in expected]
        assert [ordered[start] for start, _ in held_out["train"]] == [name for name in ordered if name not in expected]


def test_rows_of_full_sentences(tokenizer):
    texts = texts_of([[0, 2, 3], [3, 4]], [[4, 6]])
    # Room for six: both documents with a separator, and the row's own one at the end.
    assert rows_of(texts, "train", tokenizer, objective="none") == [[2, 5, 6, 7, 3, 8, 3]]
    assert rows_of(texts, "validation", tokenizer, objective="none") == [[2, 9, 10, 3]]
    assert rows_of(texts, "train", tokenizer, length=5, objective="none") == [[2, 5, 6, 7, 3], [2, 8, 3]]


def test_rows_of_neighbours_in_either_order(tokenizer):
    texts = texts_of([[0, 2, 5], [5, 7, 10]] * 20)
    rows = rows_of(texts, "train", tokenizer, objective="sentence_order")
    first, second = [2, 5, 6, 3, 7, 8, 9, 3], [2, 10, 11, 3, 12, 5, 6, 3]
    assert {tuple(row) for row in rows[::2]} == {tuple(first), (2, 7, 8, 9, 3, 5, 6, 3)}
    assert {tuple(row) for row in rows[1::2]} == {tuple(second), (2, 12, 5, 6, 3, 10, 11, 3)}


def test_a_document_that_is_held_out_alone_meets_those_of_training_and_never_the_other_way(
    tokenizer,
):
    alone = texts_of([[0, 2]], [[2, 4]])
    assert rows_of(alone, "validation", tokenizer) == [[2, 7, 8, 3, 5, 6, 3]]
    assert rows_of(alone, "train", tokenizer) == []
    # Two have one another.
    both = texts_of([[0, 2]], [[2, 4], [4, 6]])
    assert rows_of(both, "validation", tokenizer) == [[2, 7, 8, 3, 9, 10, 3], [2, 9, 10, 3, 7, 8, 3]]
    assert rows_of(texts_of([[0, 2], [2, 4]]), "validation", tokenizer) == []


def test_columns_hold_what_is_known_of_rows():
    lengths = np.array([3, 2])
    rows = TokenRows(np.array([[2, 5, 3], [2, 3, 0]]), np.array([[0, 0, 0], [0, 1, 0]]), lengths, np.array([1, 0]))
    masked = Masked(
        np.array([[2, 4, 3], [2, 3, 0]]), np.array([[1], [0]]), np.array([[5], [0]]), np.array([[1.0], [0.0]])
    )
    columns = {name: (c.values.tolist(), c.counts.tolist()) for name, c in columns_of(rows, masked).items()}
    assert columns == {
        "token_ids": ([[2, 4, 3], [2, 3, 0]], [3, 2]),
        "segment_ids": ([[0, 0, 0], [0, 1, 0]], [3, 2]),
        "mask_positions": ([[1], [0]], [1, 0]),
        "mask_ids": ([[5], [0]], [1, 0]),
        "next_sentence_label": ([[1], [0]], [1, 1]),
    }
    bare = columns_of(rows._replace(labels=None), None)
    assert {name: column.values.tolist() for name, column in bare.items()} == {
        "token_ids": [[2, 5, 3], [2, 3, 0]],
        "segment_ids": [[0, 0, 0], [0, 1, 0]],
    }


def test_records_that_are_masked_later_by_hand(tokenizer):
    texts = texts_of([[0, 2, 3], [3, 4]])
    job = job_of(objective="none", short_share=0.0, dynamic=True, duplication=2)
    records, tally = records_of(texts, "train", tokenizer, job)
    assert list(map(parse, records)) == [{"token_ids": [2, 5, 6, 7, 3, 8, 3], "segment_ids": [0] * 7}] * 2
    lengths = [0, 0, 0, 0, 0, 0, 0, 2]
    assert tally == {"rows": 2, "tokens": 14, "maskable": 8, "unknown": 0, "lengths": lengths}


def test_records_tell_what_was_hidden(tokenizer):
    texts = texts_of([[0, 5, 10], [10, 15, 20]])
    records, tally = records_of(texts, "train", tokenizer, job_of(length=24, duplication=3))
    assert len(records) == tally["rows"] >= 6
    chosen = 0
    for row in map(parse, records):
        tokens = list(row["token_ids"])
        assert row["mask_positions"] == sorted(set(row["mask_positions"]))
        for place, token in zip(row["mask_positions"], row["mask_ids"], strict=True):
            assert tokens[place] not in (0, 1, 2, 3)
            tokens[place] = token
        assert tokens.count(3) == 2
        first, second = tokens[1 : tokens.index(3)], tokens[tokens.index(3) + 1 : -1]
        # The texts are a to h over and over, so that each half is a run of them.
        for run in (first, second):
            assert [(token - run[0]) % 8 for token in run] == [place % 8 for place in range(len(run))]
        assert row["segment_ids"] == [0] * (len(first) + 2) + [1] * (len(second) + 1)
        chosen += len(row["mask_ids"])
    assert chosen == tally["chosen"] == sum(count * number for number, count in enumerate(tally["predictions"]))


def test_only_training_is_made_anew_and_each_time_otherwise(tokenizer):
    texts = texts_of([[0, 4, 8], [8, 12, 16]], [[16, 20, 24], [24, 28, 32]])
    once, thrice = (
        {split: records_of(texts, split, tokenizer, job_of(length=24, duplication=times))[0] for split in texts.splits}
        for times in (1, 3)
    )
    assert once["validation"] == thrice["validation"]
    assert thrice["train"][: len(once["train"])] == once["train"]
    assert len(set(thrice["train"])) > len(set(once["train"]))


def test_the_seed_the_shard_the_split_and_the_length_each_make_other_rows(tokenizer):
    documents = [[start, start + 4, start + 8] for start in range(0, 96, 8)]
    texts = texts_of(documents, documents)

    def make(split="train", place="0", **job):
        records, _ = records_of(texts, split, tokenizer, job_of(**{"length": 24, **job}), place)
        return tuple(records)

    assert make() == make()
    assert len({make(), make(seed=1), make(place="1"), make(split="validation"), make(length=25)}) == 5


@pytest.mark.parametrize("dynamic", [False, True])
def test_how_many_rows_are_made_at_once_does_not_matter(tokenizer, dynamic, monkeypatch):
    texts = texts_of([[start, start + 4, start + 8] for start in range(0, 96, 8)])
    job = job_of(length=24, dynamic=dynamic)
    whole = records_of(texts, "train", tokenizer, job)
    assert len(whole[0]) > 6
    monkeypatch.setattr(masked_shards, "_ROWS_AT_ONCE", 5)
    assert records_of(texts, "train", tokenizer, job) == whole


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_shard_becomes_a_file_for_each_split_and_a_tally(tokenizer, tmp_path, compression):
    for name in ("output", "scratch"):
        (tmp_path / name).mkdir()
    lines = [{"id": f"{n}", "text": "a b. c d.", "sentences": [5, 4]} for n in range(2)]
    shard = tmp_path / "corpus-00002-of-00003.jsonl.gz"
    shard.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    job = job_of(tmp_path, length=20, objective="none", short_share=0.0, dynamic=True, compression=compression)
    write_shard(shard, tokenizer, masking_vocabulary(tokenizer), job)
    files = sorted((tmp_path / "output").iterdir())
    # Of two documents none is held out: a file without records, so that every shard has all of its files.
    assert [file.name for file in files] == [
        "train-20-00002-of-00003.tfrecord",
        "validation-20-00002-of-00003.tfrecord",
    ]
    train, validation = ([parse(record.numpy()) for record in read_serialized([str(f)], compression)] for f in files)
    # The full stops are not pieces of this vocabulary.
    document = [5, 6, 1, 7, 8, 1]
    assert train == [{"token_ids": [2, *document, 3, *document, 3], "segment_ids": [0] * 15}]
    assert validation == []
    (tally,) = (tmp_path / "scratch").iterdir()
    assert tally.name == "00002-of-00003.json"
    assert json.loads(tally.read_text()) == {
        "train-20": {"rows": 1, "tokens": 15, "maskable": 8, "unknown": 4, "lengths": [*[0] * 15, 1]},
        "validation-20": {},
    }
