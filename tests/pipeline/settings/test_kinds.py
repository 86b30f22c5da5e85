"""`[encoder.variant]`: read as its kind, with errors that name key, rule and the nearest name."""

import dataclasses
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from components.dsl.errors import InputError
from keras_bert.checks import check
from keras_bert.config import EncoderShape
from keras_bert.variants.base import Variant
from keras_bert.variants.registry import VARIANTS
from pipeline.pipelines import whole
from tests.pipeline.settings.texts import CORPUS, load


@dataclasses.dataclass(frozen=True, kw_only=True)
class Windowed(Variant):
    """Made up."""

    kind: ClassVar[str] = "windowed"
    window: int = 8
    sizes: tuple[int, ...] = ()
    edges: Literal["cut", "wrap"] = "cut"

    def __post_init__(self) -> None:
        check("Windowed", "window", self.window >= 2, "be at least 2", self.window)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chunked(Variant):
    """Made up, too."""

    kind: ClassVar[str] = "chunked"
    chunk: int


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in list(VARIANTS):
        monkeypatch.delitem(VARIANTS, kind)
    for record in (Windowed, Chunked):
        monkeypatch.setitem(VARIANTS, record.kind, record)


def variant(folder: Path, text: str) -> Variant | None:
    settings = load(folder, CORPUS + "[encoder.variant]\n" + text)
    assert settings.encoder is not None
    return settings.encoder.variant


def test_a_table_is_read_as_its_kind(tmp_path: Path) -> None:
    assert variant(tmp_path, "kind = 'windowed'") == Windowed()
    assert variant(tmp_path, "kind = 'windowed'\nwindow = 4\nsizes = [1, 2]\nedges = 'wrap'") == Windowed(
        window=4, sizes=(1, 2), edges="wrap"
    )
    assert variant(tmp_path, "kind = 'chunked'\nchunk = 3") == Chunked(chunk=3)


def test_it_reaches_pre_training_in_the_encoders_shape(tmp_path: Path) -> None:
    settings = load(tmp_path, CORPUS, "encoder.variant.kind=windowed", "encoder.variant.window=6")
    pretrain = whole(settings, tmp_path).nodes[-1]
    assert type(pretrain.values["encoder"]) is EncoderShape
    assert pretrain.values["encoder"].variant == Windowed(window=6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window = 4", "encoder.variant.kind must be set"),
        ("kind = 'window'", "encoder.variant.kind must be one of ['windowed', 'chunked'], got 'window'; did you mean "),
        ("kind = 3", "encoder.variant.kind must be one of ['windowed', 'chunked'], got 3; known: chunked, windowed"),
        ("kind = 'windowed'\nwindow = 'x'", "encoder.variant.window must be a valid integer, got 'x'"),
        ("kind = 'windowed'\nwindow = 1", "encoder.variant.window must be at least 2, got 1"),
        ("kind = 'windowed'\nedges = 'out'", "encoder.variant.edges must be 'cut' or 'wrap', got 'out'"),
        ("kind = 'windowed'\nsizes = [1.5]", "encoder.variant.sizes.0 must be a valid integer, got 1.5"),
        ("kind = 'windowed'\nwindov = 4", "there is no setting 'encoder.variant.windov'; did you mean 'window'?"),
        (
            "kind = 'windowed'\nchunk = 4",
            "encoder.variant.chunk must be left out, as it does not go with the other keys of [encoder.variant]",
        ),
        ("kind = 'chunked'", "encoder.variant.chunk must be set"),
        (
            "kind = 'windowed'\nwindow = 'x'\nedges = 3",
            "encoder.variant.window must be a valid integer, got 'x'; encoder.variant.edges must be 'cut' or 'wrap', ",
        ),
    ],
)
def test_what_is_wrong_with_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        variant(tmp_path, text)
    assert str(caught.value).startswith(message)


def test_it_is_a_table(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, CORPUS, "encoder.variant=windowed")
    assert str(caught.value) == "encoder.variant must be an object, got 'windowed'"
