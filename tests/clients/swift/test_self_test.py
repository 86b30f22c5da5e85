"""The self-test in Swift: it passes, and names the part of each planted fault."""

import subprocess
from pathlib import Path

import pytest

from keras_bert.clients.page import write_tokenizers
from tests.clients.swift.test_tokenizers import compile_swift
from tests.keras_bert.clients.test_self_test import FILE, check_faults, write_folder

pytestmark = pytest.mark.swift


def test_each_planted_fault_is_named(tmp_path):
    folder = write_folder(tmp_path / "model")
    write_tokenizers(folder)
    sources = [folder / "tokenizers/WordPiece.swift", folder / "tokenizers/SelfTest.swift"]
    command = compile_swift(tmp_path / "faults", *sources, Path(__file__).parent / "faults/main.swift")
    done = subprocess.run([*command, str(folder), FILE], capture_output=True, text=True, check=True)
    check_faults(done.stdout.splitlines())
