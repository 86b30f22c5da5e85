"""The turns of tasks: each row once, the same from any batch on, and small tasks more often by a temperature."""

import itertools

import numpy as np
import pytest

from keras_bert.data.array_batches import ArrayRows
from plugins.many_tasks.objective import MARK, task_of
from plugins.many_tasks.rows import MixedRows


def rows(count):
    ids = np.arange(count * 4, dtype="int32").reshape(count, 4)
    ones = np.ones((count, 4), "int32")
    inputs = {"token_ids": ids, "segment_ids": 0 * ones, "padding_mask": ones}
    return {**inputs, "label": np.arange(count, dtype="int32")}


def mixed(counts, **options):
    sources = {name: ArrayRows("classification", rows(count), 4, rows(3)) for name, count in counts.items()}
    return MixedRows(sources, **options)


def read(batches, count):
    return [(task_of(batch), batch["label"].numpy().tolist()) for batch in itertools.islice(batches, count)]


def test_an_epoch_has_each_row_once_and_the_tasks_take_turns():
    source = mixed({"many": 40, "few": 12})
    assert (source.count, source.max_length, source.has_answers) == (52, 4, False)
    batches = source.training_batches(4, seed=1)
    assert batches.per_epoch == 13
    epoch = read(batches.epoch(2), 99)
    for name, count in (("many", 40), ("few", 12)):
        assert sorted(itertools.chain(*(labels for task, labels in epoch if task == name))) == list(range(count))
    order = [task for task, _ in epoch]
    assert order not in (sorted(order), sorted(order, reverse=True))
    assert order != [task for task, _ in read(batches.epoch(3), 99)]
    assert read(batches.first(3), 99) == read(batches.epoch(0), 3)


@pytest.mark.parametrize("done", [1, 12, 13, 40])
def test_reading_goes_on_at_any_batch(done):
    options = {"temperature": 2.0, "accumulation": 2}
    batches = mixed({"many": 40, "few": 12}, **options).training_batches(4, seed=1)
    again = mixed({"many": 40, "few": 12}, **options).training_batches(4, seed=1)
    assert read(again.after(done), 20) == read(batches.after(0), done + 20)[done:]
    assert batches.identity() == again.identity()


def test_a_temperature_repeats_small_tasks_and_a_step_has_rows_of_one_task():
    source = mixed({"many": 64, "few": 4}, temperature=2.0, accumulation=2)
    batches = source.training_batches(4, seed=0)
    # 8 + 1 turns of two batches; the square roots of 64 and 4 are 8 and 2.
    order = [task for task, _ in read(batches.epoch(), 99)]
    assert (order.count("many"), order.count("few")) == (14, 4)
    assert all(first == second for first, second in zip(order[::2], order[1::2], strict=True))
    with pytest.raises(ValueError, match=r"MixedRows\.temperature must be at least 1, got 0\.5"):
        mixed({"many": 4}, temperature=0.5)


def test_validation_reads_task_after_task_and_specifications_name_the_task():
    source = mixed({"b": 8, "a": 8})
    assert read(source.validation_batches(2).epoch(), 9) == [("b", [0, 1]), ("b", [2]), ("a", [0, 1]), ("a", [2])]
    specs = source.training_batches(4, 0).after(3).element_specs
    assert [key for spec in specs for key in spec if key.startswith(MARK)] == ["task:b", "task:a"]
    assert MixedRows({"a": ArrayRows("classification", rows(4), 4)}).validation_batches(2) is None
    with pytest.raises(ValueError, match="must be 1: tasks are trained together on one device, got 2"):
        source.training_batches(4, 0).after(0, of=2)
