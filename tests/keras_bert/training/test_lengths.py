"""Batches of several lengths: one trace for all of them, so that an interruption changes no bit."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.training.trainer import Trainer
from tests.keras_bert.training.small import Rows, rows, small_classifier

WIDTHS = (4, 8, 6)
STEPS = 5


class CutRows(Rows):
    """Batch k has one width or another, as its number says."""

    def after(self, done, **shares):
        def cut(number, batch):
            width = tf.gather(WIDTHS, (number + done) % len(WIDTHS))
            return {name: rows[:, :width] if rows.shape.rank == 2 else rows for name, rows in batch.items()}

        return super().after(done, **shares).enumerate().map(cut)


class KilledError(Exception):
    """As if the process had ended."""


def fit(training, stop=None, **options):
    def on_progress(step, *_):
        if step == stop:
            raise KilledError

    keras.utils.set_random_seed(7)
    trainer = Trainer(small_classifier(dropout=0.1), ClassificationObjective(), training, STEPS)
    data = CutRows(rows(24).columns, training.micro_batch_size)
    options = {"validations": 1, "log_every": 1, "checkpoint_seconds": 0.0, **options}
    history = trainer.fit(data, validation=rows(8, seed=1), on_progress=on_progress, **options)
    return trainer, history


def test_wherever_it_goes_on_there_is_one_trace_and_the_same_bits(tmp_path):
    training = Training(learning_rate=1e-2, batch_size=4, xla="off")
    trainer, history = fit(training)
    assert trainer._run_whole.experimental_get_tracing_count() == 1
    with pytest.raises(KilledError):
        fit(training, stop=2, checkpoints=tmp_path)
    again, resumed = fit(training, checkpoints=tmp_path)
    assert resumed == history
    for name, array in trainer.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name], err_msg=name)


def test_parts_of_a_batch_have_one_trace():
    trainer, _ = fit(Training(batch_size=8, accumulation=2, xla="off"))
    assert trainer._run_part.experimental_get_tracing_count() == 1
