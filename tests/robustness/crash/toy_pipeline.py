"""Runs a toy pipeline in a root: `python -m tests.robustness.crash.toy_pipeline ROOT [KEPT]`."""

import sys
import time
from pathlib import Path

from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import step_folders
from pipeline.commands.command import absolute_path, open_address
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import run_pipeline
from tests.pipeline.orchestrator import toy

_STEPS = 12
# Importing them takes longer than a step.
PRELOAD = ("pipeline.orchestrator.executor", "tests.robustness.crash.toy_pipeline")


@component()
def train(text: Input[toy.Text], trained: Output[toy.Text]) -> None:
    """Trains for some steps with a checkpoint each, and resumes from the last intact one."""
    folder = step_folders().checkpoints
    assert folder is not None
    folder.mkdir(parents=True, exist_ok=True)
    notes = [note.read_text() for note in sorted(folder.glob("*.note"))]
    first = next((number for number, note in enumerate(notes) if note != _note(number)), len(notes))
    for number in range(first, _STEPS):
        time.sleep(0.01)
        partial = folder / "partial"
        partial.write_text(_note(number))
        partial.rename(folder / f"{number:03d}.note")
    trained.write(text.read() + "".join(note.read_text() for note in sorted(folder.glob("*.note"))))


def _note(number: int) -> str:
    return f"step {number} is done\n"


def build_pipeline(root: str | Path, kept: str | Path | None = None) -> Pipeline:
    """Eight steps: chains, a list, a step with checkpoints, and a comparison with the kept version."""
    folder = str(kept or Path(root, "kept"))
    texts = []
    for number, value in enumerate(("hello", "howdy")):
        node = toy.write(value=value)
        node.name = f"write-{number}"
        texts.append(node)
    joined = toy.join(parts=[text.output(toy.Text) for text in texts])
    trained = train(text=joined.output(toy.Text))
    loud = toy.shout(text=trained.output(toy.Text))
    verdict = toy.compare(candidate=loud.output(toy.Text), previous=toy.Predecessor(folder))
    crown = toy.crown(candidate=loud.output(toy.Text), verdict=verdict.output(toy.Verdict), folder=folder)
    return Pipeline("toy", [toy.initial(text=loud.output(toy.Text)), crown])


def main() -> int:
    """Exits as the command line does: 0 done, 1 failed, 2 bad input."""
    try:
        root, kept = open_address(absolute_path(sys.argv[1]), is_root=True), next(iter(sys.argv[2:]), None)
        result = run_pipeline(build_pipeline(root, kept), root, preload=PRELOAD)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if result.message:
        sys.stderr.write(f"error: {result.message}\n")
    return int(result.state != "done")


if __name__ == "__main__":
    sys.exit(main())
