"""The example for Android: compiled against Android's and LiteRT's classes, and run with golden outputs for a model."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.examples import check_answers, copy_example
from tests.clients.kotlin.compiler import compile_kotlin, library, program

pytestmark = pytest.mark.kotlin

HERE = Path(__file__).parent


def test_it_compiles_and_answers_as_golden_rows_say(tmp_path: Path) -> None:
    place, rows = copy_example("android", tmp_path)
    sources = sorted((place / "app/src/main/kotlin/example").glob("*.kt"))
    assert [source.name for source in sources] == ["Classifier.kt", "MainActivity.kt", "WordPiece.kt"]
    runtime = [library(name, tmp_path) for name in ("tensorflow-lite", "tensorflow-lite-api")]
    app = compile_kotlin(sources, tmp_path / "app", [library("android"), library("json"), *runtime])
    golden = compile_kotlin([HERE / "Interpreter.kt"], tmp_path / "golden", [library("json")])
    replay = compile_kotlin([HERE / "Replay.kt"], tmp_path / "replay", [app, library("json")])
    model = place / "app/src/main/assets/model"
    command = [*program("ReplayKt", replay, app, golden, library("json")), str(model)]
    difference, *answers = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert float(difference) < 1e-6
    check_answers(answers, rows)
    # A row with other ids is found.
    rows[3]["token_ids"][1] += 1
    (model / "golden.json").write_text(json.dumps(rows))
    failed = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "other token ids for [" in failed.stderr
