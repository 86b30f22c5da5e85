"""The command of a step's own process, which `[machine] launch` starts, and which `keras_bert_edge` answers."""

from pathlib import Path

STEP_REQUEST = "--step-request"
# The environment variable with the identifier of an orchestrator's run.
RUN_VARIABLE = "KERAS_BERT_EDGE_RUN"


def step_command(python: str, request_file: Path) -> list[str]:
    """The command that runs the step of a request file; `-P` keeps modules of the working directory out."""
    return [python, "-P", "-m", "keras_bert_edge", STEP_REQUEST, str(request_file)]
