"""The example for Android: compiled against Android's and LiteRT's classes, and run with golden outputs for a model."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.examples import check_answers, copy_example
from tests.clients.kotlin.compiler import compile_kotlin, library, program

pytestmark = pytest.mark.kotlin

HERE = Path(__file__).parent
# The files of LiteRT's Kotlin API that `CompiledModel` is made of.
API = ("Model", "Common", "Environment", "AcceleratorProvider", "LiteRtException", "TensorBuffer")

Replay = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return copy_example("android", tmp_path_factory.mktemp("example"))


def find_sources(place):
    sources = sorted((place / "app/src/main/kotlin/example").glob("*.kt"))
    assert [source.name for source in sources] == ["Classifier.kt", "MainActivity.kt", "WordPiece.kt"]
    return sources


@pytest.mark.skipif("LITERT" not in os.environ, reason="needs LITERT, a clone of LiteRT; see `make help`")
def test_it_compiles_against_litert_s_own_sources(example, tmp_path):
    files = Path(os.environ["LITERT"]) / "litert/kotlin/src/main/kotlin/com/google/ai/edge/litert"
    sources = [*(files / f"{name}.kt" for name in API), HERE / "Build.kt"]
    litert = compile_kotlin(sources, tmp_path / "litert", [library("android")], strict=False)
    compile_kotlin(find_sources(example[0]), tmp_path / "app", [library("android"), library("json"), litert])


@pytest.fixture(scope="module")
def replay(example, tmp_path_factory):
    """Runs the example with a model that is `golden.json`, given what the GPU adds to each logit."""
    folder, model = tmp_path_factory.mktemp("replay"), example[0] / "app/src/main/assets/model"
    libraries = [library("android"), library("json")]
    sources = [*find_sources(example[0]), HERE / "CompiledModel.kt", HERE / "Replay.kt"]
    app = compile_kotlin(sources, folder / "app", libraries)
    command = [*program("ReplayKt", app, *libraries), str(model)]
    return lambda shift: subprocess.run([*command, shift], check=False, capture_output=True, text=True)


def test_it_answers_as_golden_rows_say_on_the_gpu(example, replay):
    place, rows = example
    accelerator, difference, *answers = replay("0.1").stdout.splitlines()
    assert (accelerator, float(difference)) == ("GPU", pytest.approx(0.1, abs=1e-3))
    check_answers(answers, rows)
    # A row with other ids is found.
    golden = place / "app/src/main/assets/model/golden.json"
    content = golden.read_text()
    changed = json.loads(content)
    changed[3]["token_ids"][1] += 1
    golden.write_text(json.dumps(changed))
    assert "other token ids for [" in replay("0").stderr
    golden.write_text(content)


@pytest.mark.parametrize(
    ("shift", "reason"),
    [
        ("0.5", "the logits of the GPU differ from golden.json by 0."),
        ("NaN", "the logits of the GPU differ from golden.json by NaN"),
        ("none", "the GPU does not run the model: Some ops are not accelerated"),
    ],
)
def test_it_says_why_it_falls_back_to_the_processor(shift, reason, example, replay):
    said, accelerator, difference, *answers = replay(shift).stdout.splitlines()
    assert said.startswith(reason)
    assert accelerator == "CPU"
    assert float(difference) < 1e-6
    check_answers(answers, example[1])
