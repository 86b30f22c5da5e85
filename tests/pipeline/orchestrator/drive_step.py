"""Runs a step of a toy pipeline as a process of its own: `python -m ... ROOT STEP FOLDER SECONDS`.

The steps: `write`, then `meet_a` and `meet_b`, each of which waits for the other for some seconds, then `measure`.
"""

import sys
from pathlib import Path

from components.dsl.errors import InputError
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.runner import run_pipeline
from tests.pipeline.orchestrator import toy


class Printer(Observer):
    """Prints messages and results."""

    def say(self, text):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def finished(self, name, state, seconds):
        self.say(f"{name} {state}")


def build(folder, seconds):
    text = toy.write().output(toy.Text)
    nodes = []
    for component, me, other in ((toy.meet, "a", "b"), (toy.meet, "b", "a"), (toy.meet_alone, "c", "a")):
        node = component(text=text, me=me, other=other, folder=folder, seconds=seconds)
        node.name = f"meet_{me}"
        nodes.append(node)
    return Pipeline("toy", nodes)


if __name__ == "__main__":
    root, step, folder, seconds = sys.argv[1:]
    Path(folder).mkdir(exist_ok=True)
    try:
        pipeline, request = build(folder, float(seconds)), Request(only=step)
        run_pipeline(pipeline, root, request=request, invocation="i", observer=Printer(), preload=())
    except InputError as error:
        sys.stdout.write(f"{error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
