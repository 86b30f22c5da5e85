"""What parts of an encoder count by where its final states go without them."""

import numpy as np
import pytest

from keras_bert.compress.importance import measure_importance
from keras_bert.compress.students import RandomProbes
from keras_bert.models.encoder import blocks_of, encoder_of
from tests.keras_bert.compress import tiny


def test_probes_tell_how_far_states_move_to_first_order():
    model, rows = tiny.build(num_layers=2), tiny.make_rows(1, seed=0)[0]
    probes = RandomProbes(encoder_of(model))
    # One text very often: each time it is seen along another direction.
    many = {name: np.repeat(value, 400, axis=0) for name, value in rows.items()}
    importance = measure_importance(probes.network, probes, [many])
    inside, step = rows["padding_mask"][0] == 1, 1e-2

    def states_with(tap, factors):
        tap.transform = lambda x, training: x * factors
        try:
            return np.asarray(probes.network(rows, training=False))[0][inside]
        finally:
            tap.transform = None

    for block, (heads, units) in zip(blocks_of(probes.network), importance, strict=True):
        for tap, values in ((block.attention.context_tap, heads), (block.feed_forward.activation_tap, units)):
            for place in (0, 1):
                ends = []
                for change in (-step, step):
                    factors = np.ones(len(values), np.float32)
                    factors[place] += change
                    ends.append(states_with(tap, factors[:, None, None] if values is heads else factors))
                moved = np.linalg.norm((ends[1] - ends[0]) / (2 * step))
                # The mean of 400 sizes of normal numbers is sure to 4 %.
                assert values[place] == pytest.approx(np.sqrt(2 / np.pi) * moved, rel=0.16)


def test_the_same_probes_in_every_process():
    model, rows = tiny.build(), tiny.make_rows(3, seed=0)[0]
    twice = []
    for _ in range(2):
        probes = RandomProbes(encoder_of(model))
        twice.append(measure_importance(probes.network, probes, [rows, rows]))
    np.testing.assert_array_equal(twice[0][0].units, twice[1][0].units)
    probes = RandomProbes(encoder_of(model))
    losses = [float(probes(probes.network, rows, training=False)["loss"][0]) for _ in range(2)]
    assert losses[0] != losses[1], "each batch has others"
