import json

import numpy as np
import pytest

from keras_bert.data.array_batches import ArrayBatches
from keras_bert.data.batches import Phases
from keras_bert.data.pretraining_batches import pretraining_batches
from tests.keras_bert.data.rows import write_dynamic_rows


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Batches of 16 rows, three an epoch, and batches of 8, five an epoch."""
    folder = tmp_path_factory.mktemp("rows")
    write_dynamic_rows(folder)
    return [pretraining_batches(folder, "train", size, seed=1, shuffle=True) for size in (16, 8)]


def contents(dataset):
    return [{name: values.numpy().tolist() for name, values in batch.items()} for batch in dataset]


def test_one_kind_comes_after_the_other_from_any_batch_on(kinds):
    first, then = kinds
    phases = Phases(first, 4, then)
    whole = [*contents(first.after(0).take(4)), *contents(then.after(0).take(7))]
    for done in (0, 6):
        assert contents(phases.after(done).take(11 - done)) == whole[done:]
    assert contents(phases.after(3, shares=(1,), of=2).take(2)) == [
        *contents(first.after(3, shares=(1,), of=2).take(1)),
        *contents(then.after(0, shares=(1,), of=2).take(1)),
    ]


def test_the_first_batches_hold_no_row_twice(kinds):
    batches, _ = kinds
    assert contents(batches.first(2)) == contents(batches.after(0).take(2))
    assert contents(batches.first(16)) == contents(batches.epoch())
    batches = ArrayBatches("", {"padding_mask": np.ones((5, 2), "int32"), "label": np.arange(5)}, 2, 2, shuffle=True)
    assert contents(batches.first(2)) == contents(batches.after(0).take(2))
    assert contents(batches.first(16)) == contents(batches.epoch())


def test_an_epoch_is_of_the_last_kind_and_the_identity_tells_both(kinds):
    first, then = kinds
    phases = Phases(first, 4, then)
    assert phases.per_epoch == then.per_epoch == 5
    assert contents(phases.epoch(1)) == contents(then.epoch(1))
    identity = Phases(first, 4, then).identity()
    assert json.loads(json.dumps(identity)) == identity
    assert identity["first.records"] == identity["then.records"] == first.identity()["records"]
    assert identity["first.batch_size"] != identity["then.batch_size"]
    others = [Phases(first, 5, then), Phases(then, 4, first), Phases(first, 4, first)]
    assert all(other.identity() != identity for other in others)
