"""What a graph has, and what it is for, is looked at before anything trains."""

from pathlib import Path

import pytest

from components.dsl.errors import InputError
from keras_bert.compress.ranges import sublayers
from keras_bert.layers.dense import Dense
from keras_bert.options.quantization import BLOCK_PRODUCTS
from pipeline.settings.rules import check_data
from tests.keras_bert.compress import tiny
from tests.pipeline.settings.test_rules import write_data
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load

ROUNDED = "[quantization]\nfloat_layers = ['block_{block}/{place}']\n"
STUDENT = "[student]\nlayers = [1]\n"


@pytest.mark.parametrize(("start", "layers"), [(CHECKPOINT, 4), (CORPUS, 2), (CORPUS + STUDENT, 1)])
def test_blocks_that_there_are_not(tmp_path: Path, start: str, layers: int) -> None:
    write_data(tmp_path)
    text = start + EXAMPLES + ROUNDED
    check_data(load(tmp_path, text.format(block=layers - 1, place="attention/key")))
    with pytest.raises(InputError) as caught:
        check_data(load(tmp_path, text.format(block=layers, place="attention/key")))
    rule = f"name blocks of the model that is rounded, 0 to {layers - 1}"
    assert str(caught.value) == f"quantization.float_layers must {rule}, got 'block_{layers}/attention/key'"


@pytest.mark.parametrize("start", [CHECKPOINT, CORPUS])
def test_places_that_no_block_has(tmp_path: Path, start: str) -> None:
    write_data(tmp_path)
    with pytest.raises(InputError) as caught:
        check_data(load(tmp_path, (start + EXAMPLES + ROUNDED).format(block=0, place="attention/keys")))
    message = "got 'block_0/attention/keys'; did you mean 'attention/key'?"
    assert str(caught.value) == f"quantization.float_layers must name products with weights, {message}"


def test_what_is_not_known_yet_is_left_to_the_step(tmp_path: Path) -> None:
    write_data(tmp_path)
    check_data(load(tmp_path, CORPUS + EXAMPLES + "[quantization]\nfloat_layers = ['poolr']\n"))
    variant = "[encoder.variant]\nkind = 'mobilebert'\nbottleneck_size = 16\n"
    encoder = CORPUS.replace("num_heads", "embedding_size = 16\nnum_heads")
    rounded = ROUNDED.format(block=0, place="feed_forward_1/intermediate")
    check_data(load(tmp_path, encoder + variant + EXAMPLES + rounded))


def test_the_places_are_those_of_the_model() -> None:
    places = [path.partition("/")[2] for path in sublayers(tiny.build(), Dense) if path.startswith("block_0/")]
    assert sorted(places) == sorted(BLOCK_PRODUCTS)
