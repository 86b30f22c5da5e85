"""Completion of click, asked as a shell asks it."""

import os
import subprocess
import sys

import pytest

from pipeline.cli import command_groups


def complete(line):
    """The candidates for the last word of a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_KERAS_BERT_EDGE_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "pipeline"], capture_output=True, text=True, env={**os.environ, **words}, timeout=60
    )
    assert done.stderr == ""
    return {answer.partition(",")[2] for answer in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("keras-bert-edge ", {name for names in command_groups().values() for name in names}),
        ("keras-bert-edge de", {"describe"}),
        ("keras-bert-edge gc --k", {"--keep"}),
        ("keras-bert-edge predict model --prompt q", {"query"}),
    ],
)
def test_commands_options_and_values_are_completed(line, candidates):
    assert complete(line) == candidates
