import dataclasses

import numpy as np
import pytest

from keras_bert.config import Masking
from keras_bert.data import pretraining_dataset, read_texts, task_dataset
from keras_bert.records import RecordError, serialize, write_features, write_labels, write_records

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


@pytest.fixture
def dynamic(tmp_path):
    """Rows of 16 tokens or fewer, each of one piece of its own; no pairs, nothing hidden."""
    for shard in range(2):
        rows = [
            serialize({"token_ids": [2, *[10 + number] * (8 + number % 7), 3], "segment_ids": [0] * (10 + number % 7)})
            for number in range(shard * 20, shard * 20 + 20)
        ]
        write_records(tmp_path / f"train-16-0000{shard}-of-00002.tfrecord", rows, compression="gzip")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *[f"a{number}" for number in range(60)]]
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    describe(tmp_path, objective="none", dynamic=True, compression="gzip")
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
    write_features(tmp_path, {"max_length": 12})
    write_labels(tmp_path, ["a", "b", "c"])
    return tmp_path


def firsts(dataset):
    return [batch["token_ids"][:, 1].numpy().tolist() for batch in dataset]


def test_pretraining_batch(pretraining):
    batch = {name: value.numpy() for name, value in next(iter(pretraining_dataset(pretraining, "train", 2))).items()}
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
    spec = pretraining_dataset(pretraining, "train", 4, drop_remainder=True).element_spec
    assert spec["token_ids"].shape == (4, 16)
    assert spec["mask_positions"].shape == (4, 3)


def test_same_seed_same_order_and_a_new_one_each_epoch(pretraining):
    def order(seed):
        return firsts(pretraining_dataset(pretraining, "train", 40, shuffle=True, repeat=True, seed=seed).take(2))

    first, second = order(1)
    assert order(1) == [first, second]
    assert sorted(first) == sorted(second) == list(range(10, 50))
    assert first != second
    assert order(2)[0] != first


def test_drop_remainder(pretraining):
    assert len(firsts(pretraining_dataset(pretraining, "train", 16))) == 3
    assert len(firsts(pretraining_dataset(pretraining, "train", 16, drop_remainder=True))) == 2


@pytest.mark.parametrize("shuffle", [False, True])
def test_buckets_hold_every_row_once_padded_to_the_boundary(pretraining, shuffle):
    dataset = pretraining_dataset(pretraining, "train", 3, shuffle=shuffle, bucket_boundaries=(6, 9), seed=5)
    seen = []
    for batch in dataset:
        longest = batch["padding_mask"].numpy().sum(axis=1)
        width = batch["token_ids"].shape[1]
        assert width in (6, 9, 16)
        assert (longest <= width).all()
        assert (longest > {6: 0, 9: 6, 16: 9}[width]).all()
        seen += batch["token_ids"][:, 1].numpy().tolist()
    assert sorted(seen) == list(range(10, 50))


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
    dataset = pretraining_dataset(dynamic, "train", 4, drop_remainder=True)
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
        rows = by_row(pretraining_dataset(dynamic, "train", batch_size, seed=seed, repeat=True, **options).take(3 * 40))
        return [sorted(rows[start : start + 40]) for start in (0, 40, 80)]

    first, second, third = epochs(1)
    assert [row[0] for row in first] == [row[0] for row in second] == list(range(10, 50))
    for one, other in ((first, second), (second, third), (first, epochs(1, seed=2)[0])):
        assert sum(a[1] == b[1] for a, b in zip(one, other, strict=True)) < 10
    assert epochs(1) == [first, second, third]
    assert epochs(1, shuffle=True) == [first, second, third]
    assert by_row(pretraining_dataset(dynamic, "train", 7, seed=1)) == first
    in_buckets = pretraining_dataset(dynamic, "train", 4, seed=1, shuffle=True, bucket_boundaries=(12, 14))
    assert sorted(by_row(in_buckets)) == first
    assert {batch["token_ids"].shape[1] for batch in in_buckets} == {12, 14, 16}


def test_an_unknown_length(dynamic):
    with pytest.raises(ValueError, match=r"dataset.length must be one of \[16\], got 128"):
        pretraining_dataset(dynamic, "train", 4, length=128)


def test_missing_records_are_counted(pretraining):
    (pretraining / "train-16-00001-of-00002.tfrecord").unlink()
    with pytest.raises(RecordError, match=r"train-16 files of .* must hold 40 records, found 20"):
        pretraining_dataset(pretraining, "train", 4)


def test_a_broken_file_is_named(task):
    file = task / "train.tfrecord"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(RecordError, match=r"train\.tfrecord must hold whole records, but record 24 "):
        task_dataset(task, "train", 4)


def test_bucketed_order_is_deterministic(task):
    def order():
        dataset = task_dataset(task, "train", 4, shuffle=True, repeat=True, seed=3, bucket_boundaries=(4,))
        return [batch["token_ids"].numpy().tolist() for batch in dataset.take(8)]

    assert order() == order()


def test_task_batch_and_texts_stand_in_the_same_order(task):
    labels = np.concatenate([batch["label"] for batch in task_dataset(task, "train", 7)])
    texts = read_texts(task, "train")
    assert texts[4] == ("text 4 é", "", "b")
    assert [label for _, _, label in texts] == ["abc"[label] for label in labels]


def test_missing_split_and_bad_arguments(task):
    with pytest.raises(FileNotFoundError, match=r"must hold test\.tfrecord, found none"):
        task_dataset(task, "test", 2)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        task_dataset(task, "train", 0)
    with pytest.raises(ValueError, match="bucket_boundaries must be positive and rise"):
        task_dataset(task, "train", 2, bucket_boundaries=(8, 4))
