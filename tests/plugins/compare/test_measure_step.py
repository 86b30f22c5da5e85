"""A step's operations against a count by hand, its seconds, and the size of what is predicted."""

import numpy as np
import pytest
import tensorflow as tf

from components.artifacts.standard import PretrainingExamples
from components.mask_examples import mask_examples
from keras_bert.core.config import EncoderShape
from keras_bert.data.pretraining_batches import pretraining_batches
from keras_bert.options.pretraining import Masking, PretrainingRows
from keras_bert.options.training import Training
from keras_bert.tokenizers.loading import load_tokenizer
from plugins.compare.artifacts import StepCost
from plugins.compare.measure_step import _TIMED, _WARM, measure_step
from tests.components.test_mask_examples import inputs

__all__ = ["inputs"]

SHAPE = EncoderShape(num_layers=2, hidden_size=16, num_heads=2, intermediate_size=32)
ROWS, LENGTHS = 6, {16: 2, 32: 4}


class Steps:
    """Stands in for the trainer's steps and for the clock: the first ones are slow, and one more."""

    def __init__(self):
        self.now, self.seen = 0.0, []

    def step(self, parts, number):
        self.seen.append({tuple(part["token_ids"].shape) for part in parts})
        ((_, length),) = self.seen[-1]
        self.now += 100.0 if number <= _WARM else length / 16 + (number == _WARM + 1)
        return [], tf.constant(1.0)


@pytest.fixture(scope="module")
def measured(inputs, tmp_path_factory):
    """The examples, what was found, and the steps that were made."""
    folder, steps = tmp_path_factory.mktemp("measured"), Steps()
    examples, cost = PretrainingExamples(folder / "examples"), StepCost(folder / "cost")
    rows = PretrainingRows(short_length=min(LENGTHS))
    mask_examples.run(
        **inputs, examples=examples, masking=Masking(max_predictions=4), rows=rows, max_length=max(LENGTHS)
    )
    training = Training(batch_size=ROWS, accumulation=2, xla="parts")
    given = {"examples": examples, "vocabulary": inputs["vocabulary"], "encoder": SHAPE, "training": training}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keras_bert.training.step.TrainingStep.step", lambda _, *given: steps.step(*given))
        patch.setattr("plugins.compare.measure_step.time.perf_counter", lambda: steps.now)
        measure_step.run(**given, cost=cost, timed=True)
    return examples, cost.read(), steps


def test_operations_of_a_step_against_a_count_by_hand(inputs, measured):
    _, costs, _ = measured
    hidden, inner, pieces = 16, 32, load_tokenizer(inputs["vocabulary"].path).vocabulary_size
    assert [entry.length for entry in costs.lengths] == list(LENGTHS)
    for entry, (length, predictions) in zip(costs.lengths, LENGTHS.items(), strict=True):
        block = length * (4 * hidden**2 + 2 * hidden * inner) + 2 * length**2 * hidden
        heads = predictions * (hidden**2 + hidden * pieces) + hidden**2 + 2 * hidden
        assert entry.flops == 3 * 2 * ROWS * (2 * block + heads)


def test_pieces_are_counted_in_bytes(inputs, measured):
    examples, costs, _ = measured
    vocabulary = load_tokenizer(inputs["vocabulary"].path).vocabulary
    sizes = []
    for batch in pretraining_batches(examples.path, "validation", 64).epoch():
        predicted = batch["mask_ids"].numpy()[batch["mask_weights"].numpy() == 1]
        sizes += [len(vocabulary[piece].replace("##", "")) + ("##" not in vocabulary[piece]) for piece in predicted]
    assert costs.bytes_an_entry == pytest.approx(np.mean(sizes))


def test_the_median_step_is_timed_once_it_is_compiled(measured):
    _, costs, steps = measured
    assert [entry.seconds for entry in costs.lengths] == [1.0, 2.0]
    batches = _WARM + _TIMED
    assert steps.seen == [{(ROWS // 2, length)} for length in LENGTHS for _ in range(batches)]
