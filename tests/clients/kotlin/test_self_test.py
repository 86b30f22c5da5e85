"""The self-test in Kotlin: it passes, and names the part of each planted fault."""

import subprocess
from pathlib import Path

import pytest

from keras_bert.clients.page import write_tokenizers
from tests.clients.kotlin.compiler import compile_kotlin, library, program
from tests.keras_bert.clients.test_self_test import FILE, check_faults, write_folder

pytestmark = pytest.mark.kotlin


def test_each_planted_fault_is_named(tmp_path):
    folder = write_folder(tmp_path / "model")
    write_tokenizers(folder)
    sources = [
        folder / "tokenizers/WordPiece.kt",
        folder / "tokenizers/SelfTest.kt",
        Path(__file__).with_name("Faults.kt"),
    ]
    app = compile_kotlin(sources, tmp_path / "app", [library("json")])
    command = [*program("FaultsKt", app, library("json")), str(folder), FILE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    check_faults(done.stdout.splitlines())
