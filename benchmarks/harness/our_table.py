"""Ours in `benchmarks.batch_answers`: what `predict --table` runs.

python -m benchmarks.harness.our_table MODEL TABLE OUT WORKERS
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import apache_beam.ml.inference.base  # noqa: F401  imports are not counted

from benchmarks.harness.stopwatch import start_watch
from components.answers.answer_table import answer_table
from components.answers.table_request import TableRequest
from components.beam.engine import BeamOptions


def main() -> None:
    """Prints the seconds."""
    model, table, out, workers = sys.argv[1:]
    beam = BeamOptions(workers=int(workers))
    request = TableRequest(model=Path(model), table=table, text="text", out=Path(out), beam=beam)
    watch = start_watch()
    answer_table(request)
    names = ("ai-edge-litert", "onnxruntime", "apache-beam")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(json.dumps({**watch(), "versions": versions}))


if __name__ == "__main__":
    main()
