"""Runs a toy pipeline as a process of its own: `python -m tests.pipeline.orchestrator.drive ROOT HOW TRACE LAUNCH...`.

`LAUNCH` is the program that starts steps, with its options; without one they are forked.
"""

import sys

from rich.console import Console

from components.dsl.errors import InputError
from pipeline.machine import Machine
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import run_pipeline
from pipeline.views.terminal import Terminal
from tests.pipeline.orchestrator import toy

if __name__ == "__main__":
    root, how, trace, *launch = sys.argv[1:]
    console = Console(soft_wrap=True)
    pipeline = Pipeline("toy", toy.misbehaving(how, trace))
    try:
        machine = Machine(launch=tuple(launch))
        result = run_pipeline(pipeline, root, observer=Terminal(console), preload=(), machine=machine)
    except InputError as error:
        console.print(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    console.print(result.state, [step.state for step in result.steps])
