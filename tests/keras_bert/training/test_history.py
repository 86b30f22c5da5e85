"""One device here; two devices and two processes are `test_trainer`'s, which starts them anyway."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.training.devices import Devices
from keras_bert.training.history import RunningRecord, write_history
from keras_bert.training.precision import LossScale
from keras_bert.training.running_mean import RunningMean
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer
from tests.keras_bert.training.small import Killed, Rows, rows, small_classifier, stop_after


def test_history_and_record(tmp_path):
    write_history([{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}], tmp_path / "history.jsonl")
    assert (tmp_path / "history.jsonl").read_text() == '{"loss": 0.5, "step": 1}\n{"loss": 0.25, "step": 2}\n'
    record = RunningRecord(tmp_path / "seed-0", [{"step": 1, "loss": 0.5}])
    record.add({"step": 2, "loss": 0.25}, {"tokens_per_second": 9.0})
    record.close()
    lines = (tmp_path / "seed-0" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 1, "loss": 0.5},
        {"step": 2, "loss": 0.25, "tokens_per_second": 9.0},
    ]
    (events,) = (tmp_path / "seed-0").glob("events*")
    records = [
        (event.step, value.tag, float(tf.make_ndarray(value.tensor)))
        for event in tf.compat.v1.train.summary_iterator(str(events))
        for value in event.summary.value
    ]
    assert records == [(1, "loss", 0.5), (2, "loss", 0.25), (2, "tokens_per_second", 9.0)]


@pytest.fixture
def weight():
    return keras.Variable(np.array([1.0, 2.0], "float32"))


def test_the_first_steps_are_forgotten_faster(weight):
    mean = RunningMean([weight], 0.5)
    weight.assign([3.0, 2.0])
    mean.update(1)  # min(0.5, 2 / 11)
    np.testing.assert_allclose(mean.variables[0].numpy(), [2 / 11 * 1 + 9 / 11 * 3, 2.0], rtol=1e-6)
    before = mean.variables[0].numpy()[0]
    weight.assign([0.0, 2.0])
    mean.update(1000)
    np.testing.assert_allclose(mean.variables[0].numpy()[0], before / 2, rtol=1e-6)


def test_weights_and_means_change_places_and_back(weight):
    mean = RunningMean([weight], 0.5)
    weight.assign([5.0, 6.0])
    mean.swap()
    assert weight.numpy().tolist() == [1.0, 2.0]
    assert mean.variables[0].numpy().tolist() == [5.0, 6.0]
    mean.swap()
    assert weight.numpy().tolist() == [5.0, 6.0]
    mean = RunningMean([], 0.0)
    mean.update(1)
    mean.swap()
    assert mean.variables == []


def test_halves_and_doubles_but_not_for_ever():
    scale = LossScale(scale=8.0, patience=3)
    seen = []
    for overflow in (True, False, False, False, False, True):
        scale.update(overflow=overflow)
        seen.append((scale.scale, scale.skipped))
    assert seen == [(4.0, 1), (4.0, 1), (4.0, 1), (8.0, 1), (8.0, 1), (4.0, 2)]
    scale = LossScale(scale=2.0**-9)
    scale.update(overflow=True)
    with pytest.raises(ArithmeticError, match=r"overflow float16 even with a loss scale of 0\.0009765625"):
        scale.update(overflow=True)


def test_one_device_needs_nobody():
    devices = Devices(tf.distribute.get_strategy())
    assert (devices.count, devices.workers, devices.is_chief) == (1, 1, True)
    assert devices.largest(-3.0) == -3.0
    assert devices.any_worker(True, False) == (True, False)
    batches = [{"token_ids": np.zeros((2, 3))}]
    assert devices.spread(lambda: batches) is batches
    run = devices.on_all(
        lambda value: ({"twice": 2 * value}, devices.add_up(value)), ("sum", "same"), reduce_retracing=True
    )
    total, same = run(tf.constant([1.0, 2.0]))
    assert total["twice"].numpy().tolist() == [2.0, 4.0]
    assert same.numpy().tolist() == [1.0, 2.0]


WIDTHS = (4, 8, 6)
STEPS = 5


class CutRows(Rows):
    """Batch k has one width or another, as its number says."""

    def after(self, done, **shares):
        def cut(number, batch):
            width = tf.gather(WIDTHS, (number + done) % len(WIDTHS))
            return {name: rows[:, :width] if rows.shape.rank == 2 else rows for name, rows in batch.items()}

        return super().after(done, **shares).enumerate().map(cut)


def fit(training, stop=None, **options):
    keras.utils.set_random_seed(7)
    step = TrainingStep(small_classifier(dropout=0.1), ClassificationObjective(), training, STEPS)
    data = CutRows(rows(24).columns, training.micro_batch_size)
    options = {"validations": 1, "log_every": 1, "checkpoint_seconds": 0.0, **options}
    trainer = Trainer(step, data, validation=rows(8, seed=1), on_progress=stop_after(stop), **options)
    return step, trainer.fit()


def test_wherever_it_goes_on_there_is_one_trace_and_the_same_bits(tmp_path):
    training = Training(learning_rate=1e-2, batch_size=4, xla="off")
    step, history = fit(training)
    assert step._run_whole.experimental_get_tracing_count() == 1
    with pytest.raises(Killed):
        fit(training, stop=2, checkpoints=tmp_path)
    again, resumed = fit(training, checkpoints=tmp_path)
    assert resumed == history
    for name, array in step.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name], err_msg=name)


def test_parts_of_a_batch_have_one_trace():
    step, _ = fit(Training(batch_size=8, accumulation=2, xla="off"))
    assert step._run_part.experimental_get_tracing_count() == 1
