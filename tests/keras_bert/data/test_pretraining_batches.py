import json
import shutil

import numpy as np
import pytest

from keras_bert.data.pretraining_batches import pretraining_batches
from keras_bert.data.records import RecordError, serialize, write_records
from keras_bert.options.pretraining import Masking
from tests.keras_bert.data.rows import describe, write_dynamic_rows


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


@pytest.fixture
def dynamic(tmp_path):
    write_dynamic_rows(tmp_path)
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


def test_batches_have_static_widths_and_the_last_one_need_not_be_full(pretraining):
    spec = pretraining_batches(pretraining, "train", 4).epoch().element_spec
    assert spec["token_ids"].shape.as_list() == [None, 16]
    assert spec["mask_positions"].shape.as_list() == [None, 3]
    assert len(firsts(pretraining_batches(pretraining, "train", 16).epoch())) == 3


def test_same_seed_same_order_and_a_new_one_each_epoch(pretraining):
    def order(seed):
        return firsts(pretraining_batches(pretraining, "train", 40, shuffle=True, seed=seed).after(0).take(2))

    first, second = order(1)
    assert order(1) == [first, second]
    assert sorted(first) == sorted(second) == list(range(10, 50))
    assert first != second
    assert order(2)[0] != first


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
    rows_by_number = []
    for batch in dataset:
        arrays = {name: value.numpy() for name, value in batch.items()}
        for row, weights in enumerate(arrays["mask_weights"]):
            count = int(weights.sum())
            positions = arrays["mask_positions"][row, :count].tolist()
            tokens = arrays["token_ids"][row, : arrays["padding_mask"][row].sum()].tolist()
            rows_by_number.append((int(arrays["mask_ids"][row, 0]), positions, tokens))
    return rows_by_number


def test_dynamic_batch(dynamic):
    dataset = pretraining_batches(dynamic, "train", 4).epoch()
    spec = dataset.element_spec
    assert {name: value.shape.as_list() for name, value in spec.items()} == {
        **{name: [None, 16] for name in ("token_ids", "segment_ids", "padding_mask")},
        **{name: [None, 3] for name in ("mask_positions", "mask_ids", "mask_weights")},
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

    dynamic_identity = identity(dynamic)
    assert json.loads(json.dumps(dynamic_identity)) == dynamic_identity
    copied = tmp_path_factory.mktemp("copied")
    shutil.copytree(dynamic, copied, dirs_exist_ok=True)
    assert identity(copied) == dynamic_identity
    differing = {"batch_size": 8}, {"seed": 1}, {"shuffle": True}, {"bucket_boundaries": (12,)}
    assert len({json.dumps(identity(dynamic, **change)) for change in ({}, *differing)}) == 5
    (copied / "vocab.txt").write_text((dynamic / "vocab.txt").read_text().replace("a7\n", "##7\n"))
    assert identity(copied) == {**dynamic_identity, "vocabulary": identity(copied)["vocabulary"]} != dynamic_identity
    write_dynamic_rows(copied, seed=1)
    assert identity(copied) == {**dynamic_identity, "records": identity(copied)["records"]} != dynamic_identity
    describe(copied, objective="none", dynamic=True, compression="gzip", masking=Masking(rate=0.3, max_predictions=3))
    assert identity(copied)["masking"] != dynamic_identity["masking"]


def test_unknown_lengths_and_missing_records_are_refused(dynamic, pretraining):
    with pytest.raises(ValueError, match=r"dataset.length must be one of \[16\], got 128"):
        pretraining_batches(dynamic, "train", 4, length=128)
    (pretraining / "train-16-00001-of-00002.tfrecord").unlink()
    with pytest.raises(RecordError, match=r"train-16 files of .* must hold 40 records, found 20"):
        pretraining_batches(pretraining, "train", 4)
