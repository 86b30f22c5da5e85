"""Files for Core ML: what was written, run by an interpreter of its operations. `make test-accelerators`."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from components.dsl.errors import InputError
from keras_bert.export.check import ParityError
from keras_bert.export.comparison import predict_as_padded
from keras_bert.export.files import list_parts
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.runtimes import open_file
from keras_bert.export.sample_texts import SECONDS, TEXTS
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.pre_norm.settings import PreNorm
from keras_bert.models.encoder import build_encoder
from keras_bert.options.export import Export
from keras_bert.options.quantization import RECIPES
from keras_bert.tasks.classification import build_classifier
from pipeline.views.description import read_description
from plugins.coreml.mil import count_operations, read_functions, read_specification
from plugins.coreml.target import COREML, COREML_FILE, COREML_FOLDER, CoreML
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import put_on_grids
from tests.keras_bert.export.test_delegation import FAMILIES
from tests.keras_bert.export.word_tasks import SETTINGS, make_task

pytestmark = pytest.mark.accelerators
ROWS = tiny.make_rows(8)[0]
GRAPHS = {
    **FAMILIES,
    "longformer": {"variant": Longformer(windows=(4,)), "num_segments": 1},
    "gated": {"variant": Gated(), "activation": "silu"},
    "gated, with linear positions": {"variant": Gated(positions="linear"), "activation": "silu"},
    "pre norm": {"variant": PreNorm()},
}


def build(**settings):
    keras.utils.set_random_seed(0)
    model = build_classifier(build_encoder(tiny.changed(**settings)), 2, pooling="mean")
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(("gamma" in weight.path) + random.normal(scale=0.2, size=weight.shape))
    return model


def export(model, folder, lengths=(16,), rounding=None):
    from plugins.coreml.package import export_coreml

    folder.mkdir(exist_ok=True)
    export_coreml(model, folder, lengths, rounding)
    return folder / COREML_FILE


def assert_answers(model, file, lengths=(16,)):
    expected = predict_as_padded(model, ROWS, lengths)
    answers = open_file(file, 16).predict_on_batch(ROWS)
    assert np.abs(answers - expected).max() < 0.01 * np.abs(expected).max()


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_has_the_answers_of_its_model(graph, tmp_path):
    model = build(**GRAPHS[graph])
    file = export(model, tmp_path)
    assert_answers(model, file)
    # Normalizations are one operation: in float16 their epsilon of 1e-12 would be 0.
    assert "rsqrt" not in count_operations(file)


@pytest.mark.parametrize(
    ("recipe", "held"),
    [
        ("mixed_wi8_ai8", {"constexpr_blockwise_shift_scale"}),
        ("weights_wi4", {"constexpr_lut_to_dense", "constexpr_blockwise_shift_scale"}),
        ("weights_wi4_block32", {"constexpr_blockwise_shift_scale"}),
        ("float16", set()),
    ],
)
def test_weights_have_the_numbers_of_the_recipe_and_functions_share_them(recipe, held, tmp_path):
    model = build(hidden_size=64)
    rounding = put_on_grids(model, recipe, float_layers=() if recipe == "float16" else ("block_0/attention/key",))
    file = export(model, tmp_path, (8, 16), rounding)
    assert open_file(file, 16).lengths == (8, 16)
    assert_answers(model, file)
    assert {kind for kind in count_operations(file) if kind.startswith("constexpr_")} == held
    # One copy of the weights; but positions are a table for each length.
    numbers = sum(int(np.prod(weight.shape)) for weight in model.weights)
    assert list_parts(file)[-1].stat().st_size < numbers * (2 if held else 2.5)


@pytest.mark.parametrize("recipe", ["mixed_wi8_ai8", "weights_wi4", "weights_wi4_block32"])
def test_a_grid_is_told_from_other_numbers_in_float16(recipe):
    from plugins.coreml.package import _is_on_grid

    random, settings = np.random.default_rng(0), RECIPES[recipe]
    largest = 2 ** (settings.weight_bits - 1) - 1
    steps = random.integers(-largest, largest + 1, (1536, 384))
    steps[:, ::32] = largest
    kernel = (steps * random.uniform(0.001, 0.003, (1536, 1))).astype(np.float16)
    assert _is_on_grid(kernel, settings)
    assert _is_on_grid(kernel.T, settings)
    assert not _is_on_grid(random.normal(size=(384, 384)).astype(np.float16), settings)


def test_a_float_layer_keeps_its_numbers(tmp_path):
    model = build(hidden_size=64)
    kept = export(model, tmp_path / "kept", (16,), put_on_grids(model, float_layers=("block_0/attention/key",)))
    kinds = count_operations(kept)["constexpr_blockwise_shift_scale"]
    every = export(model, tmp_path / "every", (16,), put_on_grids(model))
    assert count_operations(every)["constexpr_blockwise_shift_scale"] == kinds + 1


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The inputs of an export, and the rows to compare."""
    return write("classification", tmp_path_factory.mktemp("classification"))


def write(name, folder):
    task = make_task(name)
    source = ExportInputs(task, None, Export(lengths=(16,)), folder)
    CoreML().write(source)
    task.save_settings(folder)
    features = task.encode(list(TEXTS), list(SECONDS) if task.second_text == "required" else None)
    return source, ComparisonRows(features, lambda: TEXTS, 1.0)


@pytest.mark.parametrize("name", ["retrieval", "reranking", *(name for name in SETTINGS if name != "classification")])
def test_every_task_has_the_answers_of_its_model(name, tmp_path, monkeypatch):
    like = {"retrieval": "embedding", "reranking": "regression"}
    monkeypatch.setitem(SETTINGS, name, SETTINGS[like.get(name, name)])
    source, sample = write(name, tmp_path)
    assert CoreML().compare(source, COREML, sample)["largest_difference"] < 0.1


def test_an_app_reads_what_it_needs_and_so_does_describe(written):
    source, sample = written
    assert CoreML().compare(source, COREML, sample)["operations"]["gelu"] == 2
    assert CoreML().describe(source, COREML)["lengths"] == [16, 32]
    specification = read_specification(source.folder / COREML_FILE)
    held = specification.description.metadata.userDefined
    assert (held["task"], json.loads(held["labels"])) == ("classification", ["good", "bad", "neither"])
    assert [function.name for function in specification.description.functions] == ["serve_16", "serve_32"]
    assert specification.description.defaultFunctionName == "serve_32"
    (output,) = specification.description.functions[0].output
    assert output.name == "logits"
    described = read_description(source.folder / COREML_FOLDER)
    assert described["task"]["labels"] == ["good", "bad", "neither"]
    assert described["operations"]["linear"] > 0
    with pytest.raises(InputError, match=r"must be an \.mlpackage that was exported here"):
        read_description(source.folder / "other.mlpackage")


def test_the_same_model_gives_the_same_bytes(written, tmp_path):
    first = written[0].folder / COREML_FOLDER
    write("classification", tmp_path)
    for file in first.rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / COREML_FOLDER / file.relative_to(first)).read_bytes(), file.name


def test_a_changed_weight_and_an_unknown_operation_are_found(written, tmp_path):
    source, sample = written
    moved = source.folder.rename(source.folder.with_name("moved [1]"))
    try:
        weights = moved / Path(COREML_FILE).parent / "weights" / "weight.bin"
        content = weights.read_bytes()
        (table,) = (weight for weight in source.task.model.weights if "token_embedding" in weight.path)
        numbers = np.asarray(table).astype(np.float16)
        assert content.count(numbers.tobytes()) == 1
        weights.write_bytes(content.replace(numbers.tobytes(), (-numbers).tobytes()))
        replaced = ExportInputs(source.task, None, source.options, moved)
        with pytest.raises(ParityError, match=r"model.mlmodel must differ by at most"):
            CoreML().compare(replaced, COREML, sample)
        weights.write_bytes(content[:-2000])
        with pytest.raises(ValueError, match=r"^the weights of .*model.mlmodel cannot be read: "):
            read_functions(moved / COREML_FILE)
        weights.write_bytes(content)
        CoreML().compare(replaced, COREML, sample)
        specification = read_specification(moved / COREML_FILE)
        function = specification.mlProgram.functions["serve_16"]
        next(
            operation
            for operation in function.block_specializations[function.opset].operations
            if operation.type == "gelu"
        ).type = "hardswish"
        other = tmp_path / "model.mlmodel"
        other.write_bytes(specification.SerializeToString())
        (tmp_path / "weights").symlink_to(weights.parent)
        with pytest.raises(ValueError, match="has the operation hardswish, which the interpreter does not know"):
            read_functions(other)
    finally:
        moved.rename(source.folder)
