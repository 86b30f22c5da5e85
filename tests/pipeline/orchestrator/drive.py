"""Runs a toy pipeline as a process of its own: `python -m tests.pipeline.orchestrator.drive ROOT HOW TRACE`."""

import sys

from rich.console import Console

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import run_pipeline
from pipeline.views.terminal import Terminal
from tests.pipeline.orchestrator import toy

if __name__ == "__main__":
    root, how, trace = sys.argv[1:]
    console = Console(soft_wrap=True)
    pipeline = Pipeline("toy", toy.misbehaving(how, trace))
    try:
        result = run_pipeline(pipeline, root, observer=Terminal(console), preload=())
    except InputError as error:
        console.print(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    console.print(result.state, [step.state for step in result.steps])
