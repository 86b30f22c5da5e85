import dataclasses
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.data.examples.examples import read_texts
from keras_bert.data.pretraining_batches import pretraining_batches
from keras_bert.data.records import RecordError, serialize, write_features, write_labels, write_records
from keras_bert.data.task_batches import task_batches
from keras_bert.options.masking import Masking

MASKING = Masking(max_predictions=3)


def describe(folder, *, objective="next_sentence", dynamic=False, compression="none", train=40, masking=MASKING):
    entry = {"max_length": 16, "masking": dataclasses.asdict(masking), "counts": {"train": train}}
    content = {"objective": objective, "dynamic": dynamic, "compression": compression, "lengths": [entry]}
    write_features(folder, content)


@pytest.fixture
def pretraining(tmp_path):
    for shard in range(2):
        rows = []
        for number in range(shard * 20, shard * 20 + 20):
            length = 4 + number % 10
            row = {
                "token_ids": [2, *[10 + number] * (length - 2), 3],
                "segment_ids": [0, 0] + [1] * (length - 2),
                "mask_positions": [1] if number % 2 else [1, 2],
                "mask_ids": [7] if number % 2 else [7, 8],
                "next_sentence_label": [number % 2],
            }
            rows.append(serialize(row))
        write_records(tmp_path / f"train-16-0000{shard}-of-00002.tfrecord", rows)
    describe(tmp_path)
    return tmp_path


def write_dynamic_rows(folder, seed=0):
    """Rows of 16 tokens or fewer, each of one piece of its own; no pairs, nothing hidden."""
    for shard in range(2):
        rows = [
            serialize({"token_ids": [2, *[10 + number] * (8 + number % 7), 3], "segment_ids": [0] * (10 + number % 7)})
            for number in np.roll(np.arange(40), seed)[shard * 20 : shard * 20 + 20].tolist()
        ]
        write_records(folder / f"train-16-0000{shard}-of-00002.tfrecord", rows, compression="gzip")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *[f"a{number}" for number in range(60)]]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    describe(folder, objective="none", dynamic=True, compression="gzip")


@pytest.fixture
def dynamic(tmp_path):
    write_dynamic_rows(tmp_path)
    return tmp_path


@pytest.fixture
def task(tmp_path):
    rows = [
        serialize(
            {
                "token_ids": [2, *range(10, 10 + number % 7), 3],
                "segment_ids": [0] * (2 + number % 7),
                "label": [number % 3],
                "text": f"text {number} é".encode(),
                "second_text": b"",
            }
        )
        for number in range(25)
    ]
    write_records(tmp_path / "train.tfrecord", rows)
    write_features(tmp_path, {"max_length": 12, "task": "classification"})
    write_labels(tmp_path, ["a", "b", "c"])
    return tmp_path


def firsts(dataset):
    return [batch["token_ids"][:, 1].numpy().tolist() for batch in dataset]


def test_pretraining_batch(pretraining):
    batch = {
        name: value.numpy() for name, value in next(iter(pretraining_batches(pretraining, "train", 2).epoch())).items()
    }
    assert batch["token_ids"].tolist() == [[2, 10, 10, 3] + [0] * 12, [2, 11, 11, 11, 3] + [0] * 11]
    assert batch["segment_ids"].tolist() == [[0, 0, 1, 1] + [0] * 12, [0, 0, 1, 1, 1] + [0] * 11]
    assert batch["padding_mask"].tolist() == [[1] * 4 + [0] * 12, [1] * 5 + [0] * 11]
    assert batch["mask_positions"].tolist() == [[1, 2, 0], [1, 0, 0]]
    assert batch["mask_ids"].tolist() == [[7, 8, 0], [7, 0, 0]]
    assert batch["mask_weights"].tolist() == [[1, 1, 0], [1, 0, 0]]
    assert batch["next_sentence_label"].tolist() == [0, 1]
    assert {name: value.dtype.name for name, value in batch.items()} == {
        **dict.fromkeys(batch, "int32"),
        "mask_weights": "float32",
    }


def test_static_shapes(pretraining):
    batches = pretraining_batches(pretraining, "train", 4, drop_remainder=True)
    spec = batches.epoch().element_spec
    assert spec["token_ids"].shape == (4, 16)
    assert spec["mask_positions"].shape == (4, 3)
    assert batches.after(0, of=2).element_spec["token_ids"].shape == (2, 16)
    assert pretraining_batches(pretraining, "train", 4).epoch().element_spec["token_ids"].shape[0] is None


def test_same_seed_same_order_and_a_new_one_each_epoch(pretraining):
    def order(seed):
        return firsts(pretraining_batches(pretraining, "train", 40, shuffle=True, seed=seed).after(0).take(2))

    first, second = order(1)
    assert order(1) == [first, second]
    assert sorted(first) == sorted(second) == list(range(10, 50))
    assert first != second
    assert order(2)[0] != first


def test_drop_remainder(pretraining):
    assert len(firsts(pretraining_batches(pretraining, "train", 16).epoch())) == 3
    assert len(firsts(pretraining_batches(pretraining, "train", 16, drop_remainder=True).epoch())) == 2


@pytest.mark.parametrize("shuffle", [False, True])
def test_buckets_hold_every_row_once_padded_to_the_boundary(pretraining, shuffle):
    batches = pretraining_batches(pretraining, "train", 3, shuffle=shuffle, bucket_boundaries=(6, 9), seed=5)
    for epoch in range(3):
        seen, mixed = [], 0
        for batch in batches.epoch(epoch):
            longest = batch["padding_mask"].numpy().sum(axis=1)
            width = batch["token_ids"].shape[1]
            assert width in (6, 9, 16)
            assert (longest <= width).all()
            mixed += not (longest > {6: 0, 9: 6, 16: 9}[width]).all()
            seen += batch["token_ids"][:, 1].numpy().tolist()
        assert sorted(seen) == list(range(10, 50))
        assert mixed <= 2


def by_row(dataset):
    """What is hidden in each row, in the order in which they come."""
    found = []
    for batch in dataset:
        arrays = {name: value.numpy() for name, value in batch.items()}
        for row, weights in enumerate(arrays["mask_weights"]):
            count = int(weights.sum())
            positions = arrays["mask_positions"][row, :count].tolist()
            tokens = arrays["token_ids"][row, : arrays["padding_mask"][row].sum()].tolist()
            found.append((int(arrays["mask_ids"][row, 0]), positions, tokens))
    return found


def test_dynamic_batch(dynamic):
    dataset = pretraining_batches(dynamic, "train", 4, drop_remainder=True).epoch()
    spec = dataset.element_spec
    assert {name: value.shape.as_list() for name, value in spec.items()} == {
        **{name: [4, 16] for name in ("token_ids", "segment_ids", "padding_mask")},
        **{name: [4, 3] for name in ("mask_positions", "mask_ids", "mask_weights")},
    }
    static = {name: value.dtype.name for name, value in spec.items()}
    assert static == {**dict.fromkeys(spec, "int32"), "mask_weights": "float32"}
    for number, (piece, positions, tokens) in enumerate(by_row(dataset)):
        assert piece == 10 + number
        assert 1 <= len(positions) <= 3
        tokens = np.array(tokens)
        assert not {0, 1, 2, 3} & set(tokens[positions])
        tokens[positions] = piece
        assert tokens.tolist() == [2, *[piece] * (8 + number % 7), 3]


def test_masks_follow_seed_epoch_and_row(dynamic):
    def epochs(batch_size, seed=1, **options):
        batches = pretraining_batches(dynamic, "train", batch_size, seed=seed, **options)
        return [sorted(by_row(batches.epoch(number))) for number in range(3)]

    first, second, third = epochs(1)
    assert [row[0] for row in first] == [row[0] for row in second] == list(range(10, 50))
    for one, other in ((first, second), (second, third), (first, epochs(1, seed=2)[0])):
        assert sum(a[1] == b[1] for a, b in zip(one, other, strict=True)) < 10
    assert epochs(1) == [first, second, third]
    assert epochs(1, shuffle=True) == [first, second, third]
    assert by_row(pretraining_batches(dynamic, "train", 7, seed=1).epoch()) == first
    in_buckets = pretraining_batches(dynamic, "train", 4, seed=1, shuffle=True, bucket_boundaries=(12, 14)).epoch()
    assert sorted(by_row(in_buckets)) == first
    assert {batch["token_ids"].shape[1] for batch in in_buckets} == {12, 14, 16}


@pytest.mark.parametrize("boundaries", [(), (12, 14)])
def test_reading_begins_at_any_batch(dynamic, boundaries):
    batches = pretraining_batches(dynamic, "train", 3, seed=1, shuffle=True, bucket_boundaries=boundaries)
    assert batches.per_epoch == 14
    whole = [by_row([batch]) for batch in batches.after(0).take(31)]
    for done in (1, 13, 14, 29):
        assert [by_row([batch]) for batch in batches.after(done).take(31 - done)] == whole[done:]
    assert [by_row([batch]) for batch in batches.epoch(1)] == whole[14:28]
    assert [by_row([batch]) for batch in batches.after(12, stop=15)] == whole[12:15]


def test_shares_of_a_batch(pretraining):
    batches = pretraining_batches(pretraining, "train", 8, shuffle=True)
    whole = firsts(batches.epoch())
    for shares in ((0, 1), (2,)):
        parts = firsts(batches.after(0, shares=shares, of=3, stop=5))
        assert parts == [rows[share::3] for rows in whole for share in shares]


def test_the_identity_of_batches(dynamic, tmp_path_factory):
    def identity(folder, batch_size=4, **options):
        return pretraining_batches(folder, "train", batch_size, **options).identity()

    known = identity(dynamic)
    assert json.loads(json.dumps(known)) == known
    copied = tmp_path_factory.mktemp("copied")
    shutil.copytree(dynamic, copied, dirs_exist_ok=True)
    assert identity(copied) == known
    differing = {"batch_size": 8}, {"seed": 1}, {"shuffle": True}, {"bucket_boundaries": (12,)}
    assert len({json.dumps(identity(dynamic, **change)) for change in ({}, *differing)}) == 5
    (copied / "vocab.txt").write_text((dynamic / "vocab.txt").read_text().replace("a7\n", "##7\n"))
    assert identity(copied) == {**known, "vocabulary": identity(copied)["vocabulary"]} != known
    write_dynamic_rows(copied, seed=1)
    assert identity(copied) == {**known, "records": identity(copied)["records"]} != known
    describe(copied, objective="none", dynamic=True, compression="gzip", masking=Masking(rate=0.3, max_predictions=3))
    assert identity(copied)["masking"] != known["masking"]


def test_the_identity_of_a_tasks_batches(task):
    known = task_batches(task, "train", 4).identity()
    assert task_batches(task, "train", 4, tokens=24).identity() != known
    assert known["task"] == "classification"


def test_an_unknown_length(dynamic):
    with pytest.raises(ValueError, match=r"dataset.length must be one of \[16\], got 128"):
        pretraining_batches(dynamic, "train", 4, length=128)


def test_missing_records_are_counted(pretraining):
    (pretraining / "train-16-00001-of-00002.tfrecord").unlink()
    with pytest.raises(RecordError, match=r"train-16 files of .* must hold 40 records, found 20"):
        pretraining_batches(pretraining, "train", 4)


def test_a_broken_file_is_named(task):
    file = task / "train.tfrecord"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(RecordError, match=r"train\.tfrecord must hold whole records, but record 24 "):
        task_batches(task, "train", 4)


def test_bucketed_order_is_deterministic(task):
    def order():
        dataset = task_batches(task, "train", 4, shuffle=True, seed=3, bucket_boundaries=(4,)).after(0)
        return [batch["token_ids"].numpy().tolist() for batch in dataset.take(8)]

    assert order() == order()


def test_task_batch_and_texts_stand_in_the_same_order(task):
    labels = np.concatenate([batch["label"] for batch in task_batches(task, "train", 7).epoch()])
    texts = read_texts(task, "train")
    assert texts[4] == ("text 4 é", "", "b")
    assert [label for _, _, label in texts] == ["abc"[label] for label in labels]


def write_rows(folder, kind, rows, **floats):
    """Records of a task with one feature of its own."""
    records = []
    for number, row in enumerate(rows):
        example = tf.train.Example.FromString(serialize({"token_ids": [2, 9, 3], "segment_ids": [0] * 3, **row}))
        for name, values in floats.items():
            example.features.feature[name].float_list.value.append(values[number])
        records.append(example.SerializeToString())
    write_records(folder / "train.tfrecord", records)
    write_features(folder, {"max_length": 5, "task": kind})
    write_labels(folder, list("abcde"))
    return next(iter(task_batches(folder, "train", 2).epoch()))


def test_the_labels_of_each_task(tmp_path):
    value = write_rows(tmp_path, "regression", [{}, {}], value=[0.5, 3.25])["value"]
    assert value.dtype == tf.float32
    assert value.numpy().tolist() == [0.5, 3.25]
    label = write_rows(tmp_path, "token_classification", [{"label": [-1, 4, -1]}, {"label": [-1, 0, 2]}])["label"]
    assert label.dtype == tf.int32
    assert label.numpy().tolist() == [[-1, 4, -1, -1, -1], [-1, 0, 2, -1, -1]]
    positions = write_rows(tmp_path, "question_answering", [{"positions": [0, 0]}, {"positions": [1, 2]}])["positions"]
    assert positions.dtype == tf.int32
    assert positions.numpy().tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("kind", "rows", "record"),
    [
        ("classification", [{"label": [4]}, {"label": [5]}], 1),
        ("classification", [{"label": [-1]}], 0),
        ("token_classification", [{"label": [-1, 4, -1]}, {"label": [-1, 0, 5]}], 1),
        ("token_classification", [{"label": [-1, -2, 2]}, {"label": [5, 0, 5]}], 0),
        ("question_answering", [{"positions": [0, 4]}, {"positions": [0, 5]}], 1),
    ],
)
def test_a_label_that_there_is_not(tmp_path, kind, rows, record):
    message = rf"train.tfrecord of .* must have [a-z]+ from -?\d to 4, but record {record} has"
    with pytest.raises(RecordError, match=message):
        write_rows(tmp_path, kind, rows)


def test_missing_split_and_bad_arguments(task):
    with pytest.raises(FileNotFoundError, match=r"must hold test\.tfrecord, found none"):
        task_batches(task, "test", 2)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        task_batches(task, "train", 0)
    with pytest.raises(ValueError, match="bucket_boundaries must be positive and rise"):
        task_batches(task, "train", 2, bucket_boundaries=(8, 4))
