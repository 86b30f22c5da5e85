"""Runs a toy pipeline under a root: `python -m benchmarks.killed.toy_run ROOT`."""

import sys
import time

from components.dsl.component import Latest, Node, component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.dsl.workplace import workplace
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import run_pipeline
from tests.pipeline.orchestrator import toy

_STEPS = 12
# A child that begins without them takes longer than its step.
PRELOAD = ("pipeline.orchestrator.executor", "benchmarks.killed.toy_run")


@component()
def train(text: Input[toy.Text], trained: Output[toy.Text]) -> None:
    """Takes steps, keeps a note of each, and goes on from the last whole one."""
    place = workplace().checkpoints
    assert place is not None
    place.mkdir(parents=True, exist_ok=True)
    done = [note.read_text() for note in sorted(place.glob("*.note"))]
    first = next((number for number, note in enumerate(done) if note != _note(number)), len(done))
    for number in range(first, _STEPS):
        time.sleep(0.01)
        partial = place / "partial"
        partial.write_text(_note(number))
        partial.rename(place / f"{number:03d}.note")
    trained.write(text.read() + "".join(note.read_text() for note in sorted(place.glob("*.note"))))


def _note(number: int) -> str:
    return f"step {number} is done\n"


def pipeline() -> Pipeline:
    """Eight steps: chains, a list, a step with checkpoints, and one that looks for its predecessor."""
    parts = []
    for number, value in enumerate(("hello", "howdy")):
        node = toy.write(value=value)
        node.name = f"write-{number}"
        parts.append(node)
    whole = toy.join(parts=[part.text for part in parts])
    trained: Node = train(text=whole.whole)
    loud = toy.shout(text=trained.trained)
    verdict = toy.compare(candidate=loud.loud, previous=Latest(toy.Kept, besides=loud.loud))
    return Pipeline("toy", [toy.initial(text=loud.loud), toy.crown(candidate=loud.loud, verdict=verdict.verdict)])


def main() -> int:
    """Exits as the command line does: 0 done, 1 failed, 2 bad input."""
    try:
        result = run_pipeline(pipeline(), sys.argv[1], preload=PRELOAD)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if result.message:
        sys.stderr.write(f"error: {result.message}\n")
    return int(result.state != "done")


if __name__ == "__main__":
    sys.exit(main())
