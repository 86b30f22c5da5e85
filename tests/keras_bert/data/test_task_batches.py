import json
import re

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.core.folders import FEATURES_FILE
from keras_bert.core.plugins import find_plugins
from keras_bert.data.records import RecordError, serialize, write_features, write_labels, write_records
from keras_bert.data.schemas import SCHEMAS, TEXT
from keras_bert.data.task_batches import task_batches
from tests.keras_bert.objectives.kinds import KINDS, build


@pytest.fixture
def task(tmp_path):
    rows = [
        serialize(
            {
                "token_ids": [2, *range(10, 10 + number % 7), 3],
                "segment_ids": [0] * (2 + number % 7),
                "label": [number % 3],
            }
        )
        for number in range(25)
    ]
    write_records(tmp_path / "train.tfrecord", rows)
    write_features(tmp_path, {"max_length": 12, "task": "classification"})
    write_labels(tmp_path, ["a", "b", "c"])
    return tmp_path


def test_rows_stand_in_the_order_of_the_file_and_identities_tell_plans_apart(task):
    identity = task_batches(task, "train", 4).identity()
    assert task_batches(task, "train", 5).identity() != identity
    assert identity["task"] == "classification"
    batches = list(task_batches(task, "train", 7).epoch())
    assert np.concatenate([batch["label"] for batch in batches]).tolist() == [number % 3 for number in range(25)]
    lengths = np.concatenate([batch["padding_mask"].numpy().sum(axis=1) for batch in batches])
    assert lengths.tolist() == [2 + number % 7 for number in range(25)]

    def order():
        dataset = task_batches(task, "train", 4, shuffle=True, seed=3, bucket_boundaries=(4,)).after(0)
        return [batch["token_ids"].numpy().tolist() for batch in dataset.take(8)]

    assert order() == order()


def test_broken_missing_and_empty_splits_and_impossible_batches_are_refused(task):
    with pytest.raises(FileNotFoundError, match=r"must hold test\.tfrecord, found none"):
        task_batches(task, "test", 2)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        task_batches(task, "train", 0)
    with pytest.raises(ValueError, match="bucket_boundaries must be positive and rise"):
        task_batches(task, "train", 2, bucket_boundaries=(8, 4))
    file = task / "train.tfrecord"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(RecordError, match=r"train\.tfrecord must hold whole records, but record 24 "):
        task_batches(task, "train", 4)
    write_records(task / "test.tfrecord", [])
    with pytest.raises(ValueError, match=r"dataset\.split must hold a row, got 'test of "):
        task_batches(task, "test", 2)


def write_rows(folder, kind, rows):
    """Records of a task, each a row's own features and one token that differs; gives the first batch."""
    plain = {"token_ids": [2, 9, 3], "segment_ids": [0, 0, 0]}
    write_records(folder / "train.tfrecord", [serialize({**plain, **row}) for row in rows])
    write_features(folder, {"max_length": 5, "task": kind})
    write_labels(folder, list("abc"))
    return next(iter(task_batches(folder, "train", 2).epoch()))


PAIR = {
    "token_ids": [[2, 9, 3, 0, 0], [2, 9, 9, 3, 0]],
    "segment_ids": [[0, 0, 0, 0, 0], [0, 0, 1, 1, 0]],
    "padding_mask": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]],
}
LONGER = {"token_ids": [2, 9, 9, 3], "segment_ids": [0, 0, 1, 1]}
SECOND = {
    "second_token_ids": [[2, 7, 7, 7, 3], [2, 3, 0, 0, 0]],
    "second_segment_ids": [[0] * 5] * 2,
    "second_padding_mask": [[1] * 5, [1, 1, 0, 0, 0]],
}


@pytest.mark.parametrize(
    ("kind", "features", "expected"),
    [
        ("classification", [{"label": [2]}, {"label": [0]}], {"label": [2, 0]}),
        ("multi_label", [{"label": [1, 0, 1]}, {"label": [0, 0, 0]}], {"label": [[1, 0, 1], [0, 0, 0]]}),
        ("regression", [{"value": 0.5}, {"value": 3.25}], {"value": [0.5, 3.25]}),
        (
            "token_classification",
            [{"label": [-1, 2, -1], "row": [0]}, {"label": [-1, 0, 1, -1], "row": [0]}],
            {"label": [[-1, 2, -1, -1, -1], [-1, 0, 1, -1, -1]]},
        ),
        (
            "question_answering",
            [{"positions": [0, 0], "row": [0]}, {"positions": [1, 4], "row": [1]}],
            {"positions": [[0, 0], [1, 4]]},
        ),
        (
            "reranking",
            [{"value": 1.0, "list": [4]}, {"value": 0.5, "list": [4]}],
            {"value": [1.0, 0.5], "list": [4, 4]},
        ),
        (
            "embedding",
            [
                {"second_token_ids": [2, 7, 7, 7, 3], "second_segment_ids": [0] * 5, "value": -1.0},
                {"second_token_ids": [2, 3], "second_segment_ids": [0, 0], "value": 0.25},
            ],
            {**SECOND, "value": [-1.0, 0.25]},
        ),
        (
            "retrieval",
            [
                {"second_token_ids": [2, 7, 7, 7, 3], "second_segment_ids": [0] * 5, "negative_texts": []}
                | {"negative_lengths": [], "negative_groups": [], "answer_groups": [0, 4], "passage_group": [0]},
                {"second_token_ids": [2, 3], "second_segment_ids": [0, 0], "negative_texts": [2, 8, 3, 2, 3]}
                | {"negative_lengths": [3, 2], "negative_groups": [2, 0], "answer_groups": [1], "passage_group": [1]},
            ],
            {
                **{name: [row[:4] for row in rows] for name, rows in PAIR.items()},
                **SECOND,
                "negative_token_ids": [[2, 8, 3, 0, 0], [2, 3, 0, 0, 0]],
                "negative_segment_ids": [[0] * 5] * 2,
                "negative_padding_mask": [[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]],
                "negative_group": [2, 0],
                "negative_row": [1, 1],
                "answer_groups": [[0, 4], [1, -1]],
                "passage_group": [0, 1],
            },
        ),
    ],
)
def test_the_batch_of_each_task(tmp_path, kind, features, expected):
    batch = write_rows(tmp_path, kind, [features[0], {**LONGER, **features[1]}])
    assert {name: values.numpy().tolist() for name, values in batch.items()} == {**PAIR, **expected}
    assert {name: values.dtype.name for name, values in batch.items() if values.dtype != tf.int32} == (
        {"value": "float32"} if "value" in expected else {}
    )
    # The objective of the task finds all that it needs.
    sums = KINDS[kind].objective(build(kind), batch, training=False)
    assert np.isfinite([float(total) for total, _ in sums.values()]).all()
    assert set(SCHEMAS) - set(find_plugins("tasks")) == {*KINDS, TEXT}


def test_the_batch_of_texts_of_no_task(tmp_path):
    batch = write_rows(tmp_path, TEXT, [{}, LONGER])
    assert {name: values.numpy().tolist() for name, values in batch.items()} == PAIR


def test_the_longer_of_two_texts_decides_on_the_bucket(tmp_path):
    sizes = [(3, 2), (2, 5), (5, 3), (2, 2)]
    rows = [
        {"token_ids": [2] * first, "segment_ids": [0] * first, "second_token_ids": [3] * second}
        | {"second_segment_ids": [0] * second, "value": float(number)}
        for number, (first, second) in enumerate(sizes)
    ]
    write_rows(tmp_path, "embedding", rows)
    batches = list(task_batches(tmp_path, "train", 2, bucket_boundaries=(3,)).epoch())
    buckets = [
        (batch["token_ids"].shape[1], batch["second_token_ids"].shape[1], batch["value"].numpy()) for batch in batches
    ]
    assert [(*widths, values.tolist()) for *widths, values in buckets] == [(5, 5, [1.0, 2.0]), (3, 3, [0.0, 3.0])]


def test_queries_are_no_longer_than_the_longest_query(tmp_path):
    rows = [
        {"token_ids": [2] * query, "segment_ids": [0] * query, "second_token_ids": [3] * passage}
        | {"second_segment_ids": [0] * passage, "answer_groups": [number], "passage_group": [number]}
        | {"negative_texts": [], "negative_lengths": [], "negative_groups": []}
        for number, (query, passage) in enumerate([(2, 5), (3, 4), (1, 2), (2, 1)])
    ]
    write_rows(tmp_path, "retrieval", rows)
    for boundaries, widths in (((), [(3, 5)] * 2), ((2,), [(3, 5), (2, 2)])):
        batches = task_batches(tmp_path, "train", 2, bucket_boundaries=boundaries).epoch()
        assert [(batch["token_ids"].shape[1], batch["second_token_ids"].shape[1]) for batch in batches] == widths


def test_the_longest_negative_decides_on_the_width_of_a_batch_too(tmp_path):
    rows = [
        {"second_token_ids": [2, 3], "second_segment_ids": [0, 0], "answer_groups": [number], "passage_group": [number]}
        | {"negative_texts": [2] * sum(lengths), "negative_lengths": lengths, "negative_groups": [9] * len(lengths)}
        for number, lengths in enumerate([[2, 2], [2, 5], [], [4]])
    ]
    write_rows(tmp_path, "retrieval", rows)
    batches = list(task_batches(tmp_path, "train", 2, bucket_boundaries=(3,)).epoch())
    assert [(batch["negative_token_ids"].shape, batch["passage_group"].numpy().tolist()) for batch in batches] == [
        ((4, 5), [0, 1]),
        ((1, 5), [2, 3]),
    ]


@pytest.mark.parametrize("boundaries", [(), (3,)], ids=["one width", "buckets"])
def test_each_batch_has_the_negatives_of_its_rows(tmp_path, boundaries):
    counts = [2, 0, 1, 3, 0, 0, 4]
    rows = [
        {"second_token_ids": [2, 3], "second_segment_ids": [0, 0], "answer_groups": [number], "passage_group": [number]}
        | {"negative_texts": [2, 10 + number] * count, "negative_lengths": [2] * count}
        | {"negative_groups": [100 * number + place for place in range(count)]}
        for number, count in enumerate(counts)
    ]
    write_rows(tmp_path, "retrieval", rows)
    batches = task_batches(tmp_path, "train", 3, bucket_boundaries=boundaries, shuffle=True, seed=1)
    seen = []
    # As one device reads them, and as the two devices of a strategy do.
    for shares in ([(0,)], [(0,), (1,)]):
        for share in shares:
            for batch in batches.epoch(shares=share, of=len(shares)):
                passage_groups, values = (
                    batch["passage_group"].numpy(),
                    {name: array.numpy() for name, array in batch.items()},
                )
                rows_of = passage_groups[values["negative_row"]]
                assert rows_of.tolist() == [number for number in passage_groups for _ in range(counts[number])]
                assert values["negative_token_ids"][:, 1].tolist() == (10 + rows_of).tolist()
                assert (values["negative_group"] // 100).tolist() == rows_of.tolist()
                seen += passage_groups.tolist()
    assert sorted(seen) == sorted([*range(7), *range(7)])


@pytest.mark.parametrize(
    ("kind", "rows", "record"),
    [
        ("classification", [{"label": [2]}, {"label": [3]}], 1),
        ("classification", [{"label": [-1]}], 0),
        ("multi_label", [{"label": [1, 0, 0]}, {"label": [0, 2, 0]}], 1),
        ("multi_label", [{"label": [1, 0, -1]}], 0),
        ("token_classification", [{"label": [-1, 2, -1]}, {"label": [-1, 0, 3]}], 1),
        ("token_classification", [{"label": [-1, -2, 2]}, {"label": [3, 0, 3]}], 0),
        ("question_answering", [{"positions": [0, 4]}, {"positions": [0, 5]}], 1),
    ],
)
def test_refuses_label_out_of_range(tmp_path, kind, rows, record):
    ranges = {"classification": (0, 2), "multi_label": (0, 1), "token_classification": (-1, 2)}
    least, most = ranges.get(kind, (0, 4))
    message = rf"train.tfrecord of .* must have [a-z]+ from {least} to {most}, but record {record} has"
    with pytest.raises(RecordError, match=message):
        write_rows(tmp_path, kind, rows)


@pytest.mark.parametrize("flags", [[1, 0], [1, 0, 0, 1]])
def test_flags_are_as_many_as_labels(tmp_path, flags):
    rule = f"must have 3 values of label, one for each label, but record 1 has {len(flags)}"
    with pytest.raises(RecordError, match=rf"train.tfrecord of .* {rule}"):
        write_rows(tmp_path, "multi_label", [{"label": [1, 0, 0]}, {"label": flags}])


@pytest.mark.parametrize("length", [-1, 0, 10**40, True, 8.0, "8", None])
def test_refuses_length_in_features(task, length):
    content = json.loads((task / FEATURES_FILE).read_text())
    (task / FEATURES_FILE).write_text(json.dumps({**content, "max_length": length}))
    with pytest.raises(
        RecordError, match=rf"^features\.json of .* must say max_length, got {re.escape(repr(length))}$"
    ):
        task_batches(task, "train", 2)
