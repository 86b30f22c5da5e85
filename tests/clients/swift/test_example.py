"""The example for iOS: compiled against a module of the runtime's name, and run with golden outputs for a model."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.examples import check_answers, copy_example

pytestmark = pytest.mark.swift

HERE = Path(__file__).parent / "example"


def test_it_compiles_and_answers_as_golden_rows_say(tmp_path):
    place, rows = copy_example("ios", tmp_path)
    runtime, binary, module = (tmp_path / name for name in ("runtime.o", "replay", "TensorFlowLite.swiftmodule"))
    stub = ["-module-name", "TensorFlowLite", "-parse-as-library", str(HERE / "TensorFlowLite.swift")]
    swiftc(*stub, "-wmo", "-emit-object", "-emit-module", "-emit-module-path", str(module), "-o", str(runtime))
    sources = [place / "Classifier.swift", place / "WordPiece.swift", HERE / "main.swift"]
    swiftc(*map(str, sources), "-warnings-as-errors", "-I", str(tmp_path), str(runtime), "-o", str(binary))
    # It needs SwiftUI, which is on Apple's systems alone.
    swiftc("-parse", str(place / "ClassifierApp.swift"))
    command = [str(binary), str(place / "model")]
    difference, *answers = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert float(difference) < 1e-6
    check_answers(answers, rows)
    # A row with other ids is found.
    rows[3]["token_ids"][1] += 1
    (place / "model" / "golden.json").write_text(json.dumps(rows))
    failed = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "otherTokenIds" in failed.stderr


def swiftc(*arguments):
    subprocess.run(["swiftc", *arguments], check=True)
