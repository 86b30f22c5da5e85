"""The outcome of a step's process."""

import signal
from typing import Literal, NamedTuple

from pipeline.orchestrator.records import Cost

OutcomeKind = Literal["done", "input_error", "refusal", "disk_full", "transient", "crash", "unstarted"]

# Signals from outside of the process: memory ran out, a scheduler, a closed terminal.
_EXTERNAL_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)


class Outcome(NamedTuple):
    """The outcome of a step.

    Attributes:
        kind: `transient` is a crash that a retry may avoid: the process was killed from outside, or lost a connection.
            `unstarted` says that the program that starts the step has failed.
        message: one line; empty if the step is done.
        cost: the used resources; None if the process did not report them.
    """

    kind: OutcomeKind
    message: str
    cost: Cost | None = None


def outcome_of_exit(code: int | None) -> Outcome:
    """The outcome of a process that ended without reporting one.

    Args:
        code: the exit code; negative for the number of a signal, as `multiprocessing` and `subprocess` return it.
    """
    if code is None or code >= 0:
        return Outcome("crash", f"ended with exit code {code} before it was done")
    number = signal.Signals(-code)
    hint = "; the system may have run out of memory" if number is signal.SIGKILL else ""
    return Outcome("transient" if number in _EXTERNAL_SIGNALS else "crash", f"was killed by {number.name}{hint}")
