"""Contestants of fine-tuning compute with as many threads."""

import argparse
import json
from types import SimpleNamespace

from benchmarks import fine_tuning
from pipeline.job.files import load_settings


def test_the_peer_gets_all_processors(monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        return SimpleNamespace(stdout=json.dumps({"sentences_per_second": 8.0}))

    monkeypatch.setattr(fine_tuning, "usable_processors", lambda: 5)
    monkeypatch.setattr(fine_tuning.subprocess, "run", run)
    settings = load_settings(fine_tuning.JOB, ['checkpoint.path="checkpoint"'])
    options = argparse.Namespace(peers_python="python", batch_size=2, steps=3)
    assert fine_tuning.time_peer("bfloat16", ("--grouped",), settings, options) == 8.0
    (command,) = commands
    assert command[command.index("--threads") + 1] == "5"
    # A training set of one row has enough steps.
    epochs, most = (float(command[command.index(name) + 1]) for name in ("--epochs", "--max-steps"))
    assert epochs / options.batch_size >= most == 23
