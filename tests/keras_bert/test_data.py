import numpy as np
import pytest

from keras_bert.data import pretraining_dataset, read_texts, task_dataset
from keras_bert.records import serialize, write_features, write_labels, write_records


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
        write_records(tmp_path / f"train-0000{shard}-of-00002.tfrecord", rows)
    write_features(tmp_path, {"max_length": 16, "max_predictions": 3})
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
