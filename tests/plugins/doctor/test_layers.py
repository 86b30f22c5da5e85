"""A layer that is planted to hurt is found, and the fewest layers that mend it."""

import keras
import pytest

from keras_bert.compress.ranges import sublayers
from keras_bert.layers.dense import Dense
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.token_classification import build_tagger
from plugins.doctor.layers import QuantizationDiagnosis, search_float_layers
from tests.keras_bert.compress import tiny
from tests.keras_bert.models.test_encoder import randomize

LOUD = "block_1/attention/query"


def plant(model):
    """One unit of a layer is far above all others, and nobody reads it: the layer's grid is spent on it."""
    layers = sublayers(model, Dense)
    change(layers[LOUD].bias, 30000.0)
    keys = layers["block_1/attention/key"]
    # The answers depend on the other queries more than on the noise of other grids.
    keys.kernel.assign(3.0 * keys.kernel)
    for weight in (keys.kernel, keys.bias):
        change(weight, 0.0)


def change(weight, value):
    """The first unit's part of a weight."""
    values = weight.numpy()
    values[..., 0] = value
    weight.assign(values)


@pytest.fixture(scope="module")
def diagnosed():
    model = tiny.build(num_layers=2)
    randomize(model)
    plant(model)
    rows = tiny.make_rows(64, seed=9)[0]
    patient = QuantizationDiagnosis(model, tiny.batches(2), rows, "mixed_wi8_ai8")
    return model, patient, patient.diagnose_layers()


def test_the_planted_layer_comes_first_and_what_is_said_of_a_layer(diagnosed):
    _, patient, findings = diagnosed
    first = findings[0]
    assert first.layer == LOUD
    assert first.gain > 0.2
    assert first.high > 7000, "scaled by 1 / sqrt(16)"
    assert first.output_db > 40, "a loud unit hides the noise: the gain tells"
    assert [finding.gain for finding in findings] == sorted(
        (one_finding.gain for one_finding in findings), reverse=True
    )
    assert patient.distance > 0
    model, _, findings = diagnosed
    by_name = {finding.layer: finding for finding in findings}
    # All products with kernels but the head's.
    assert set(by_name) == set(sublayers(model, Dense)) - {"classifier"}
    key = by_name["block_0/attention/key"]
    assert key.weights == 32 * 32
    assert key.extra_bytes == 3 * 32 * 32
    assert key.low < 0 < key.high
    assert 0 < key.usual <= max(-key.low, key.high) * 1.5
    # Eight bits: some 40 dB, a little more or less by the shape of the values.
    assert 25 < key.kernel_db < 60
    assert 20 < key.output_db < 60
    assert by_name["block_0/feed_forward/intermediate"].output_db is not None
    assert by_name["block_0/attention/query"].output_db is not None, "behind its scaling"


def test_float_products_restores_float_answers_and_then_quantizes_again(diagnosed):
    _, patient, _ = diagnosed
    everything = list(patient.aware.kernels)
    # What several products read stays rounded.
    assert 0 < patient.distance_with(everything) < patient.distance / 2
    assert patient.distance_with(()) == pytest.approx(patient.distance)
    with pytest.raises(RuntimeError, match="inside"), patient.aware.float_products(everything):
        raise RuntimeError("inside")
    assert patient.distance_with(()) == pytest.approx(patient.distance)


@pytest.mark.parametrize(
    ("worth", "least", "answer"),
    [
        ({"a": 3, "b": 2, "c": 1}, 0, []),
        ({"a": 3, "b": 2, "c": 1}, 3, ["a"]),
        ({"a": 3, "b": 2, "c": 1}, 6, ["a", "b", "c"]),
        # The first one was worth nothing after all.
        ({"a": 0, "b": 2, "c": 3}, 5, ["b", "c"]),
        ({"a": 1, "b": 1, "c": 1}, 4, None),
    ],
)
def test_the_fewest_layers(worth, least, answer):
    tried = list(search_float_layers("abc", lambda layers: sum(worth[layer] for layer in layers), least))
    layers, value = tried[-1]
    assert value == sum(worth[layer] for layer in layers)
    assert (layers if value >= least else None) == answer


def test_outputs_at_padding_do_not_count():
    distances = []
    for pad_id in (0, 7):
        keras.utils.set_random_seed(0)
        model = build_tagger(build_encoder(tiny.CONFIG), 3)
        randomize(model)
        rows = tiny.make_rows(8, seed=9)[0]
        rows["token_ids"][rows["padding_mask"] == 0] = pad_id
        distances.append(QuantizationDiagnosis(model, tiny.batches(1), rows, "mixed_wi8_ai8").distance)
    assert distances[0] == pytest.approx(distances[1], rel=1e-5)
