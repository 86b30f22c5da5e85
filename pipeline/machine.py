"""What a run may take of the machine, and how often it tries again."""

import dataclasses
import os
from collections.abc import Sequence
from typing import NamedTuple

from keras_bert.checks import check


class Need(NamedTuple):
    """What a step takes: cores, on the average, and bytes of memory, at the most."""

    cores: float
    memory: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """Whether steps that do not need one another run side by side, and whether one that was killed is tried again.

    What a step takes is what it took the last time; one that never ran, and one that measures time, runs alone.

    Attributes:
        cores: that steps side by side may take together; None for one step after the other.
        memory_gigabytes: likewise, of 10^9 bytes; None for what the machine has.
        retries: how often a step is begun again that was killed from outside, or whose connection was lost.
    """

    cores: float | None = None
    memory_gigabytes: float | None = None
    retries: int = 0

    def __post_init__(self) -> None:
        check("Machine", "cores", self.cores is None or self.cores > 0, "be positive", self.cores)
        memory = self.memory_gigabytes
        check("Machine", "memory_gigabytes", memory is None or memory > 0, "be positive", memory)
        check("Machine", "memory_gigabytes", memory is None or self.cores is not None, "go with cores", memory)
        check("Machine", "retries", 0 <= self.retries <= 100, "be between 0 and 100", self.retries)

    def has_room(self, need: Need | None, running: Sequence[Need | None]) -> bool:
        """Whether a step may begin beside those that run; None stands for one that has to be alone."""
        if not running:
            return True
        needs = [each for each in (need, *running) if each is not None]
        if self.cores is None or len(needs) <= len(running):
            return False
        given = self.memory_gigabytes
        memory = _machine_bytes() if given is None else 1e9 * given
        return sum(each.cores for each in needs) <= self.cores and sum(each.memory for each in needs) <= memory


def _machine_bytes() -> float:
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
