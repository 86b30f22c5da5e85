"""What a graph has, and what it is for, is looked at before anything trains."""

import json

import pytest

from keras_bert.compress.ranges import sublayers
from keras_bert.layers.dense import Dense
from keras_bert.options.quantization import BLOCK_PRODUCTS
from pipeline.job.checks import check_data
from tests.keras_bert.compress import tiny
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load, refusal, write_data

ROUNDED = "[quantization]\nfloat_layers = ['block_{block}/{place}']\n"
STUDENT = "[student]\nlayers = [1]\n"


@pytest.mark.parametrize(("start", "layers"), [(CHECKPOINT, 4), (CORPUS, 2), (CORPUS + STUDENT, 1)])
def test_refuses_float_layers_of_missing_blocks(tmp_path, start, layers):
    write_data(tmp_path)
    text = start + EXAMPLES + ROUNDED
    check_data(load(tmp_path, text.format(block=layers - 1, place="attention/key")))
    rule = f"name blocks of the model that is rounded, 0 to {layers - 1}"
    line = refusal(tmp_path, text.format(block=layers, place="attention/key"))
    assert line == f"quantization.float_layers must {rule}, got 'block_{layers}/attention/key'"


@pytest.mark.parametrize("start", [CHECKPOINT, CORPUS])
def test_refuses_float_layers_that_no_block_has(tmp_path, start):
    write_data(tmp_path)
    message = "got 'block_0/attention/keys'; did you mean 'attention/key'?"
    line = refusal(tmp_path, (start + EXAMPLES + ROUNDED).format(block=0, place="attention/keys"))
    assert line == f"quantization.float_layers must name products with weights, {message}"


@pytest.mark.parametrize("start", [CHECKPOINT, CORPUS])
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["student.hidden_size=33"], "student: EncoderConfig.hidden_size must be a multiple of num_heads=2, got 33"),
        (["student.num_heads=3"], "student: EncoderConfig.hidden_size must be a multiple of num_heads=3, got 32"),
        (
            ["student.embedding_rank=32"],
            "student: EncoderConfig.embedding_rank must be below 32, the width of the vectors, got 32",
        ),
        (
            ["student.num_heads=1", "quantization.recipe='weights_wi4_block32'"],
            "quantization.recipe must have blocks that divide all widths of the model, 16 among them; set another "
            "recipe or width, got 'weights_wi4_block32'",
        ),
    ],
)
def test_refuses_shapes_of_students(tmp_path, start, overrides, message):
    write_data(tmp_path)
    config = {"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 32}
    config |= {"num_attention_heads": 2, "intermediate_size": 64}
    (tmp_path / "bert" / "config.json").write_text(json.dumps(config))
    check_data(load(tmp_path, start + EXAMPLES, "student.num_heads=1"))
    assert refusal(tmp_path, start + EXAMPLES, *overrides) == message


def test_unknown_graphs_are_left_to_the_step(tmp_path):
    write_data(tmp_path)
    check_data(load(tmp_path, CORPUS + EXAMPLES + "[quantization]\nfloat_layers = ['poolr']\n"))
    variant = "[encoder.variant]\nkind = 'mobilebert'\nbottleneck_size = 16\n"
    encoder = CORPUS.replace("num_heads", "embedding_size = 16\nnum_heads")
    rounded = ROUNDED.format(block=0, place="feed_forward_1/intermediate")
    check_data(load(tmp_path, encoder + variant + EXAMPLES + rounded))


def test_the_places_are_those_of_the_model():
    places = [path.partition("/")[2] for path in sublayers(tiny.build(), Dense) if path.startswith("block_0/")]
    assert sorted(places) == sorted(BLOCK_PRODUCTS)
