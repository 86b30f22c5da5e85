"""What parts of an encoder count by where its final states go without them."""

import keras
import numpy as np
import pytest

from keras_bert.compress.importance import measure_importance
from keras_bert.compress.students import RandomProbes
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.models.encoder import blocks_of, build_encoder, encoder_of
from keras_bert.objectives.base import TaskObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.objectives.tasks import ClassificationObjective, EmbeddingObjective
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.embedding import build_embedder
from tests.keras_bert.compress import tiny
from tests.keras_bert.models.test_encoder import make_inputs
from tests.keras_bert.objectives.kinds import KINDS, build


def batch(rows=3, seed=0):
    inputs, labels = tiny.make_rows(rows, seed)
    return {**inputs, "label": labels.astype(np.int32)}


def loss_with(model, tap, factors, rows):
    """The loss of a batch where what passes a tap is multiplied with factors."""
    tap.transform = lambda x, training: x * factors
    try:
        return float(ClassificationObjective()(model, rows, False)["loss"][0])
    finally:
        tap.transform = None


def test_it_is_the_change_of_the_loss_to_first_order():
    model, rows = tiny.build(num_layers=2), batch(1)
    importance = measure_importance(model, ClassificationObjective(), [rows])
    step = 1e-2
    for block, (heads, units) in zip(blocks_of(model), importance, strict=True):
        for tap, values in ((block.attention.context_tap, heads), (block.feed_forward.activation_tap, units)):
            for place in range(0, len(values), 17 if len(values) > 17 else 1):
                factors = np.ones(len(values), np.float32)
                losses = []
                for change in (-step, step):
                    factors[place] = 1 + change
                    shaped = factors[:, None, None] if tap is block.attention.context_tap else factors
                    losses.append(loss_with(model, tap, shaped, rows))
                assert values[place] == pytest.approx(abs(losses[1] - losses[0]) / (2 * step), abs=3e-5)


def test_rows_count_alike_however_they_are_batched():
    model, rows = tiny.build(), batch(4)
    halves = [{name: value[part] for name, value in rows.items()} for part in (slice(0, 1), slice(1, 4))]
    whole = measure_importance(model, ClassificationObjective(), [rows])
    parted = measure_importance(model, ClassificationObjective(), halves)
    np.testing.assert_allclose(whole[0].heads, parted[0].heads, rtol=1e-4)
    np.testing.assert_allclose(whole[0].units, parted[0].units, rtol=1e-4, atol=1e-8)
    # A row's change has no sign: those of two rows do not cancel out.
    alone = [measure_importance(model, ClassificationObjective(), [{n: v[k : k + 1] for n, v in rows.items()}])[0]
             for k in range(4)]  # fmt: skip
    np.testing.assert_allclose(
        np.mean([importance.units for importance in alone], axis=0), whole[0].units, rtol=1e-4, atol=1e-8
    )


def test_the_model_is_left_as_it_was():
    model, rows = tiny.build(), batch()
    inputs = {name: rows[name] for name in ("token_ids", "segment_ids", "padding_mask")}
    before = np.asarray(model(inputs))
    measure_importance(model, ClassificationObjective(), [rows])
    np.testing.assert_array_equal(before, model(inputs))


def test_both_texts_of_a_pair_count():
    model = build_embedder(build_encoder(tiny.CONFIG, pooler=False))
    first, second = (tiny.make_rows(3, seed)[0] for seed in (0, 1))
    network = keras.Model(model.input, model.output["embedding"])
    pairs = {**first, **{f"second_{name}": value for name, value in second.items()}}
    (importance,) = measure_importance(network, EmbeddingObjective(), [{**pairs, "value": np.zeros(3, np.float32)}])
    assert importance.heads.shape == (2,)
    assert importance.units.shape == (64,)
    assert (importance.heads > 0).all()


class InOneCall(RetrievalObjective):
    """Retrieval whose queries are padded to the length of passages."""

    run = TaskObjective.run


def test_texts_of_two_calls_count_as_those_of_one():
    network, batch = build("retrieval"), {**KINDS["retrieval"].batch, **make_inputs(length=4)}
    apart, together = (
        measure_importance(network, objective, [batch])[0] for objective in (RetrievalObjective(), InOneCall())
    )
    assert (apart.units > 0).any()
    np.testing.assert_allclose(apart.heads, together.heads, rtol=1e-3)
    np.testing.assert_allclose(apart.units, together.units, rtol=1e-3, atol=1e-7)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match=r"^measure_importance.batches must hold at least one batch, got none$"):
        measure_importance(tiny.build(), ClassificationObjective(), [])
    with pytest.raises(ValueError, match=r"removed from BERT's graph, got one with shared_layers"):
        measure_importance(tiny.build(num_layers=2, shared_layers=True), ClassificationObjective(), [batch()])
    modern = build_classifier(build_encoder(tiny.changed(num_segments=0, variant=ModernBERT())), 2)
    with pytest.raises(ValueError, match=r"removed from BERT's graph, got one with variant 'modernbert'"):
        measure_importance(modern, ClassificationObjective(), [batch()])


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
