"""`[encoder.variant]`: read as its kind, with errors that name key, rule and the valid names."""

from pathlib import Path

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
