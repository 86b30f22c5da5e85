"""Completion of click: what a shell is answered, once by the program and else in this process."""

import os
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from pipeline.cli import command_groups, program
from pipeline.commands.command import PROGRAM


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("", {name for names in command_groups().values() for name in names}),
        ("de", {"describe"}),
        ("gc --k", {"--keep"}),
        ("predict model --prompt q", {"query"}),
    ],
)
def test_commands_options_and_values_are_completed(line, candidates):
    *words, last = line.split(" ")
    completions = BashComplete(program, {}, PROGRAM, "").get_completions(words, last)
    assert {completion.value for completion in completions} == candidates


def test_the_program_answers_a_shell():
    variables = {"COMP_WORDS": f"{PROGRAM} de", "COMP_CWORD": "1", "_KERAS_BERT_EDGE_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "pipeline"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, timeout=60)
    assert (done.stdout, done.stderr) == ("plain,describe\n", "")
