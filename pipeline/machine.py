"""The cores and the memory that parallel steps may use, and retries of steps."""

import os
from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self

import pydantic

from keras_bert.checks import check
from keras_bert.validation import validated_dataclass


class Need(NamedTuple):
    """Resources of a step: the mean number of cores, and the peak of memory in bytes."""

    cores: float
    memory: float


@validated_dataclass
class Machine:
    """Settings of the parallel execution of independent steps, and of retries.

    A step is expected to need what it used the last time. A step that never ran, or that measures time, runs alone.

    Attributes:
        cores: number of cores that parallel steps may use together, above 0; None runs one step after the other.
        memory_gigabytes: memory that parallel steps may use together, in gigabytes of 10^9 bytes; None for all memory
            of the machine. It needs `cores`.
        retries: number of restarts, 0 to 100, of a step that was killed from outside or lost its connection.
    """

    cores: pydantic.PositiveFloat | None = None
    memory_gigabytes: pydantic.PositiveFloat | None = None
    retries: Annotated[int, pydantic.Field(ge=0, le=100)] = 0

    @pydantic.model_validator(mode="after")
    def _check_memory(self) -> Self:
        memory = self.memory_gigabytes
        rule = "be left out without cores, as steps run one after the other"
        check("Machine", "memory_gigabytes", memory is None or self.cores is not None, rule, memory)
        return self

    def has_room(self, need: Need | None, running: Sequence[Need | None]) -> bool:
        """Whether a step may start beside the running ones; None stands for a step that has to run alone."""
        if not running:
            return True
        needs = [resources for resources in (need, *running) if resources is not None]
        if self.cores is None or len(needs) <= len(running):
            return False
        limit = self.memory_gigabytes
        memory = _machine_bytes() if limit is None else 1e9 * limit
        return sum(need.cores for need in needs) <= self.cores and sum(need.memory for need in needs) <= memory


def _machine_bytes() -> float:
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
