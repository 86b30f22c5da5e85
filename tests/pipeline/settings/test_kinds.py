"""`[encoder.variant]`: read as its kind, with errors that name key, rule and the valid names."""

from pathlib import Path

import pytest

from components.dsl.errors import InputError
from keras_bert.core.config import EncoderShape, Variant
from keras_bert.families.bigbird.settings import BigBird
from pipeline.pipelines import build_pipeline
from tests.pipeline.settings.texts import CORPUS, load


def variant(folder: Path, text: str) -> Variant | None:
    settings = load(folder, CORPUS + "[encoder.variant]\n" + text)
    assert settings.encoder is not None
    return settings.encoder.variant


def test_a_table_is_read_as_its_kind(tmp_path: Path) -> None:
    assert variant(tmp_path, "kind = 'bigbird'") == BigBird()
    assert variant(tmp_path, "kind = 'bigbird'\nblock_size = 4\nattention = 'full'") == BigBird(
        block_size=4, attention="full"
    )


def test_it_reaches_pre_training_in_the_encoders_shape(tmp_path: Path) -> None:
    settings = load(tmp_path, CORPUS, "encoder.variant.kind=bigbird", "encoder.variant.block_size=6")
    pretrain = build_pipeline(settings, tmp_path).nodes[-1]
    assert type(pretrain.values["encoder"]) is EncoderShape
    assert pretrain.values["encoder"].variant == BigBird(block_size=6)


KINDS = "'bigbird', 'deberta', 'longformer', 'mobilebert', 'modernbert'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block_size = 4", "encoder.variant.kind must be set"),
        ("kind = 'bigbirt'", f"encoder.variant.kind must be one of {KINDS}, got 'bigbirt'"),
        ("kind = 3", f"encoder.variant.kind must be one of {KINDS}, got '3'"),
        ("kind = 'bigbird'\nblock_size = 'x'", "encoder.variant.block_size must be a valid integer, got 'x'"),
        ("kind = 'bigbird'\nblock_size = 0", "encoder.variant.block_size must be positive, got 0"),
        (
            "kind = 'bigbird'\nattention = 'out'",
            "encoder.variant.attention must be 'block_sparse' or 'full', got 'out'",
        ),
        ("kind = 'longformer'\nwindows = [1.5]", "encoder.variant.windows.0 must be a valid integer, got 1.5"),
        ("kind = 'longformer'\nwindow = 3", "encoder.variant.window must be a multiple of 2, got 3"),
        (
            "kind = 'deberta'\nposition_buckets = 3",
            "encoder.variant.position_buckets must be 0 or at least 4, got 3",
        ),
        (
            "kind = 'bigbird'\nblock_sise = 4",
            "there is no setting 'encoder.variant.block_sise'; did you mean 'block_size'?",
        ),
        (
            "kind = 'bigbird'\nwindow = 4",
            "encoder.variant.window must be left out, as it does not go with the other keys of [encoder.variant]",
        ),
        (
            "kind = 'bigbird'\nblock_size = 'x'\nattention = 3",
            "encoder.variant.block_size must be a valid integer, got 'x'; "
            "encoder.variant.attention must be 'block_sparse' or 'full', got 3",
        ),
    ],
)
def test_what_is_wrong_with_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        variant(tmp_path, text)
    assert str(caught.value) == message


def test_it_is_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, CORPUS, "encoder.variant=windowed")
    assert str(caught.value) == "encoder.variant must be a table, got 'windowed'"
