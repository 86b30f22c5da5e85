"""Files by recipe: the very integers of the grids, and the answers of the rounded model."""

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from keras_bert.compress.ranges import sublayers
from keras_bert.export import tflite
from keras_bert.export.quantized import export_quantized
from keras_bert.export.rules import lite
from keras_bert.export.rules.expected import Expected
from keras_bert.export.rules.lite_graphs import read_graphs
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import Projections, StatePooler
from keras_bert.models.encoder import build_encoder, input_names
from keras_bert.options.quantization import RECIPES
from keras_bert.tasks.question_answering import build_span_classifier
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import answers_of, export_on_grids, put_on_grids
from tests.keras_bert.export.test_delegation import FAMILIES
from tests.keras_bert.export.word_tasks import make_task, make_texts
from tests.samples import long_but

# Recipe -> the largest difference of a logit from the rounded model in Keras, of logits up to 5.
BOUNDS = {
    "mixed_wi8_ai8": 0.2,
    "dynamic_wi8": 0.05,
    "static_wi8_ai8": 0.3,
    "static_wi8_ai16": 0.002,
    "weights_wi4": 0.05,
    "weights_wi4_block32": 0.05,
    "float16": 5e-3,
}


def integers_of(file):
    """Shape -> the integer constants of a file, with their scales."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter, integers = Interpreter(model_path=str(file)), {}
    for detail in interpreter.get_tensor_details():
        if detail["dtype"] is np.int8 and len(detail["quantization_parameters"]["scales"]) > 1:
            try:
                values = np.array(interpreter.get_tensor(detail["index"]))
            except ValueError:
                continue
            integers.setdefault(values.shape, []).append((values, detail["quantization_parameters"]["scales"]))
    return integers


@pytest.fixture(scope="module")
def trained():
    """A model that was trained, made again for each call."""
    model = tiny.build()
    tiny.train(model, epochs=4)
    weights = model.get_weights()

    def make():
        model = tiny.build()
        model.set_weights(weights)
        return model

    return make


@pytest.fixture(
    scope="module",
    params=long_but(("mixed_wi8_ai8", "static_wi8_ai8", "static_wi8_ai16", "weights_wi4_block32"), RECIPES),
)
def made(request, trained, tmp_path_factory):
    """A trained model on the grids of a recipe, its file, and rows."""
    model, path = trained(), tmp_path_factory.mktemp("quantized") / "model.tflite"
    rounding = export_on_grids(
        model, request.param, path, (8, 16), tiny.make_rows(64, seed=3)[0], batches=tiny.batches()
    )
    return request.param, model, rounding, path, tiny.make_rows(64, seed=9)[0]


def test_a_file_answers_as_the_rounded_model(made):
    recipe, model, rounding, path, rows = made
    logits, expected = answers_of(path, model, rounding, rows)
    assert logits.dtype == np.float32
    assert np.abs(expected).max() > 2
    np.testing.assert_allclose(logits, expected, atol=BOUNDS[recipe])
    assert (logits.argmax(1) == expected.argmax(1)).mean() > 0.95


def test_the_integers_are_those_of_the_grids(made):
    recipe, model, _, path, _ = made
    settings = RECIPES[recipe]
    if not settings.integers or settings.block:
        pytest.skip("floats, or blocks that this interpreter does not unpack")
    last = 2 ** (settings.weight_bits - 1) - 1
    integers = integers_of(path)
    kernels = {path: layer.kernel.numpy() for path, layer in sublayers(model, Dense).items()}
    compared = 0
    for kernel in kernels.values():
        scale = np.abs(kernel).max(axis=0) / last
        steps = np.round(kernel / scale).T
        compared += any(np.array_equal(values, steps) for values, _ in integers.get(steps.shape, []))
    # Where query, key and value are one product, they are one matrix.
    heads = 0 if settings.heads else 1
    assert compared == len(kernels) - heads


def test_a_file_keeps_the_rules(made):
    recipe, _, _, path, _ = made
    expected = Expected(tiny.CONFIG.vocabulary_size, (), recipe)
    assert not [breach for graph in read_graphs(path) for rule in lite.LITE_RULES for breach in rule(graph, expected)]


@pytest.mark.parametrize("made", ["static_wi8_ai16"], indirect=True)
def test_16_bits_are_those_of_the_specification(made):
    """Zero points of 0, sums of products in 64 bits, and no activation in 8 bits behind the token table."""
    path, types = made[3], set()
    for graph in schema.ModelT.InitFromPackedBuf(path.read_bytes()).subgraphs:
        makers = {operation.outputs[0] for operation in graph.operators}
        for number, tensor in enumerate(graph.tensors):
            if tensor.type == schema.TensorType.INT16:
                assert tensor.quantization.zeroPoint.tolist() == [0]
                assert len(tensor.quantization.scale) == 1
            if number in makers:
                types.add(tensor.type)
                assert tensor.type != schema.TensorType.INT8 or b"token_embedding" in tensor.name
    assert {schema.TensorType.INT16, schema.TensorType.INT8} <= types
    for graph in read_graphs(path):
        products = [operation for operation in graph.operations if operation.kind == "FULLY_CONNECTED"]
        kinds = {tuple(graph.tensors[index].type for index in (*p.inputs, *p.outputs)) for p in products}
        assert kinds == {("int16", "int8", "int64", "int16")}


@pytest.mark.parametrize("made", ["static_wi8_ai16"], indirect=True)
def test_activations_of_16_bits_lose_less_than_a_fiftieth_of_what_8_bits_lose(made, trained, tmp_path):
    """Compared with float activations and the same int8 weights."""
    _, model, _, path, rows = made
    coarse, calibration = trained(), tiny.make_rows(64, seed=3)[0]
    export_on_grids(coarse, "static_wi8_ai8", tmp_path / "model.tflite", (8, 16), calibration, batches=tiny.batches())
    errors = [
        np.abs(TFLiteModel(file).predict_on_batch(rows) - np.asarray(network(rows))).mean()
        for file, network in ((path, model), (tmp_path / "model.tflite", coarse))
    ]
    assert errors[0] < errors[1] / 50


@pytest.mark.parametrize("size", long_but([1e-7], [0.0, 1e-7]))
def test_a_block_of_zeros_has_a_scale(trained, tmp_path, size):
    """The scale of these weights is 0 as float16."""
    model, recipe = trained(), "weights_wi4_block32"
    kernel = sublayers(model, Dense)["block_0/attention/value"].kernel
    kernel.assign(kernel.numpy() * (np.arange(32) > 3) + size * (np.arange(32) <= 3))
    rounding = export_on_grids(model, recipe, tmp_path / "model.tflite")
    logits, expected = answers_of(tmp_path / "model.tflite", model, rounding, tiny.make_rows(64, seed=9)[0])
    assert np.abs(expected).max() > 2
    np.testing.assert_allclose(logits, expected, atol=BOUNDS[recipe])


def test_values_beyond_those_of_calibration_are_not_clipped(trained, tmp_path):
    """Four rows calibrate; the last bits of others differ, nothing more."""
    model, rows, few = trained(), tiny.make_rows(64, seed=9)[0], tiny.make_rows(4, seed=3)[0]
    export_on_grids(model, "static_wi8_ai16", tmp_path / "model.tflite", rows=few, batches=[few])
    answers = TFLiteModel(tmp_path / "model.tflite").predict_on_batch(rows)
    np.testing.assert_allclose(answers, np.asarray(model(rows)), atol=0.01)


@pytest.mark.parametrize("recipe", long_but(["static_wi8_ai8"], ["static_wi8_ai8", "static_wi8_ai16"]))
def test_vectors_of_length_1(recipe, tmp_path):
    """Their squares are summed without a mean: no tensor is left that nothing computes. Lengths are not integers."""
    task = make_task("embedding")
    network, encoded = task.network(), task.tokenizer.encode(make_texts(32, 12), max_length=task.max_length)
    rows = {name: np.asarray(encoded[name]) for name in input_names(network)}
    options = {"batches": [rows], "output": task.output_name}
    rounding = export_on_grids(network, recipe, tmp_path / "model.tflite", (32,), rows, **options)
    answers, expected = answers_of(tmp_path / "model.tflite", network, rounding, rows)
    answers = answers[task.output_name]
    np.testing.assert_allclose(np.linalg.norm(answers, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(answers, expected, atol=0.05 if recipe == "static_wi8_ai8" else 5e-4)


@pytest.mark.long
def test_a_file_is_as_small_as_its_weights(tmp_path):
    sizes = {}
    for recipe in ("dynamic_wi8", "weights_wi4", "float16"):
        model = tiny.build(hidden_size=128, intermediate_size=512)
        export_on_grids(model, recipe, tmp_path / recipe, (8,))
        sizes[recipe] = (tmp_path / recipe).stat().st_size
    weights = 4 * 128 * 128 + 2 * 128 * 512
    assert sizes["dynamic_wi8"] - sizes["weights_wi4"] == pytest.approx(weights / 2, rel=0.15)
    assert sizes["float16"] > 2 * weights


def test_one_large_value_leaves_other_rows_their_variance(trained, tmp_path):
    """As models with a few large values have it: on a grid for its square all others would be zero."""
    model = trained()
    table = next(weight for weight in model.weights if weight.path.endswith("token_embedding/embeddings"))
    values = table.numpy()
    values[7, 0] = 100 * values.std()
    table.assign(values)
    rows, _ = tiny.make_rows(64, seed=9)
    assert (rows["token_ids"] == 7).any()
    calibration, options = tiny.make_rows(64, seed=3)[0], {"batches": tiny.batches()}
    rounding = export_on_grids(model, "static_wi8_ai8", tmp_path / "model.tflite", (16,), calibration, **options)
    logits, expected = answers_of(tmp_path / "model.tflite", model, rounding, rows)
    assert (logits.argmax(1) == expected.argmax(1)).mean() > 0.95
    np.testing.assert_allclose(logits, expected, atol=0.2)


def test_all_integers_need_rows_for_their_ranges(tmp_path):
    with pytest.raises(ValueError, match=r"^static_wi8_ai8 needs rows that calibrate the activation ranges, got none$"):
        export_on_grids(tiny.build(), "static_wi8_ai8", tmp_path / "model.tflite", (8,))


def test_a_length_that_no_row_fits_has_rows_that_are_cut(tmp_path):
    rows = {name: values[:2] for name, values in tiny.make_rows(2)[0].items()}
    rows["padding_mask"][:] = 1
    export_on_grids(tiny.build(), "static_wi8_ai8", tmp_path / "model.tflite", (4, 16), rows)
    assert TFLiteModel(tmp_path / "model.tflite").lengths == (4, 16)


def test_rows_without_padding_calibrate_a_file_that_ignores_padding(trained, tmp_path):
    """Texts that fill every row say nothing of the mask's range."""
    model, calibration, recipe = trained(), tiny.make_rows(32, seed=3)[0], "static_wi8_ai16"
    calibration["padding_mask"][:] = 1
    rounding = export_on_grids(model, recipe, tmp_path / "model.tflite", rows=calibration, batches=tiny.batches())
    answers, expected = answers_of(tmp_path / "model.tflite", model, rounding, tiny.make_rows(32, seed=9)[0])
    np.testing.assert_allclose(answers, expected, atol=BOUNDS[recipe])


@pytest.mark.parametrize(
    "recipe",
    long_but(
        ("mixed_wi8_ai8", "static_wi8_ai8"),
        ("mixed_wi8_ai8", "dynamic_wi8", "static_wi8_ai8", "static_wi8_ai16", "weights_wi4"),
    ),
)
def test_layers_that_stay_float_are_float_in_the_file(recipe, tmp_path):
    left = ("block_0/attention/key", "block_0/feed_forward/intermediate")
    model, rows = tiny.build(), tiny.make_rows(8)[0]
    kernels = {path: layer.kernel.numpy() for path, layer in sublayers(model, Dense).items()}
    rounding = export_on_grids(model, recipe, tmp_path / "model.tflite", rows=rows, float_layers=left)
    floats = [tensor for tensor in constants_of(tmp_path / "model.tflite") if tensor.dtype == np.float32]
    for path, kernel in kernels.items():
        held = any(tensor.shape == kernel.T.shape and np.array_equal(tensor, kernel.T) for tensor in floats)
        assert held == (path in left or (path == "classifier" and recipe == "mixed_wi8_ai8")), path
    np.testing.assert_allclose(*answers_of(tmp_path / "model.tflite", model, rounding, rows), atol=0.05)


@pytest.mark.parametrize("recipe", long_but(["static_wi8_ai8"], ["mixed_wi8_ai8", "static_wi8_ai8"]))
def test_a_sum_beside_states_that_are_copied_keeps_a_grid_of_its_own(recipe, tmp_path):
    encoder, rows = build_encoder(tiny.changed(num_layers=1), pooler=False), tiny.make_rows(32)[0]
    vector = StatePooler("cls+max+mean_sqrt_len_tokens", name="state_pooler")(
        encoder.output["sequence_output"], encoder.input["padding_mask"]
    )
    vector = Projections([{"units": 4, "use_bias": False, "activation": "none"}], name="projections")(vector)
    model, file = keras.Model(encoder.input, vector), tmp_path / "model.tflite"
    rounding = export_on_grids(model, recipe, file, rows=rows, batches=[rows])
    kernel = 3 * tiny.CONFIG.hidden_size, 4
    assert any(tensor.shape == kernel[::-1] and tensor.dtype == np.int8 for tensor in constants_of(file))
    answers, expected = answers_of(file, model, rounding, rows)
    # A sum on the grid of the states is cut: answers are then far off by tenths of their range.
    np.testing.assert_allclose(answers, expected, atol=0.04 * np.ptp(expected))


def constants_of(file):
    from ai_edge_litert.interpreter import Interpreter

    interpreter, constants = Interpreter(model_path=str(file)), []
    for detail in interpreter.get_tensor_details():
        try:
            constants.append(np.array(interpreter.get_tensor(detail["index"])))
        except ValueError:
            continue
    return constants


def test_the_masks_constant_leaves_answers_their_steps(tmp_path):
    keras.utils.set_random_seed(0)
    encoder = build_encoder(tiny.CONFIG, pooler=False)
    network = build_span_classifier(encoder)
    rows = tiny.make_rows(8)[0]
    expected = np.asarray(network(rows))
    export_on_grids(network, "static_wi8_ai8", tmp_path / "model.tflite", rows=rows, batches=[rows])
    logits = TFLiteModel(tmp_path / "model.tflite").predict_on_batch(rows)
    shown = rows["padding_mask"] == 1
    # Steps of 120 / 255, as with the mask's constant in their range, would leave little of these.
    assert np.abs(expected[shown]).max() < 120 / 255
    assert np.corrcoef(logits[shown].ravel(), expected[shown].ravel())[0, 1] > 0.9


# Recipe -> the largest difference of a logit between a file that computes the first token alone in its last layer and
# one that computes all, beyond float32's: static ranges are measured in the file, those of rows while it runs. Without
# normalization, MobileBERT turns the last bit of a row's range into a step of its grid.
STATIC_BOUNDS = {"static_wi8_ai8": 0.3, "static_wi8_ai16": 0.002}
ROW_BOUNDS = {"mobilebert": 0.02}


@pytest.mark.parametrize("family", long_but(["deberta"], ["deberta", "mobilebert", "modernbert"]))
@pytest.mark.parametrize("recipe", long_but(["mixed_wi8_ai8"], [None, *RECIPES]))
def test_the_first_token_alone_answers_alike_in_files(family, recipe, tmp_path, monkeypatch):
    settings = {"num_layers": 2, "hidden_size": 64} | FAMILIES[family]
    settings |= {"embedding_size": 32} if family == "mobilebert" else {}
    model, parameters, rows = tiny.build(**settings), None, tiny.make_rows(32)[0]
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(random.normal(scale=0.2, size=weight.shape))
    rows = {name: rows[name] for name in input_names(model)}
    if recipe is not None:
        parameters = put_on_grids(model, recipe, [rows])
    answers = []
    for name in ("first", "all"):
        export_quantized(model, tmp_path / f"{name}.tflite", (tiny.LENGTH,), parameters, rows)
        answers.append(TFLiteModel(tmp_path / f"{name}.tflite")(**rows))
        monkeypatch.setattr(tflite, "skip_unused_tokens", lambda model: model)
    assert (tmp_path / "first.tflite").read_bytes() != (tmp_path / "all.tflite").read_bytes()
    assert np.abs(answers[1]).max() > 0.1
    by_rows = recipe is not None and RECIPES[recipe].activations == "rows"
    bound = ROW_BOUNDS.get(family, 1e-5) if by_rows else STATIC_BOUNDS.get(recipe, 1e-5)
    np.testing.assert_allclose(*answers, rtol=0, atol=bound)
