"""The cores and the memory that parallel steps may use, the programs that start steps, and retries of steps."""

import shutil
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Self

import pydantic

from components.dsl.component import StepKind
from components.dsl.errors import InputError
from keras_bert.core.checks import check
from keras_bert.core.processor import usable_memory
from keras_bert.core.validation import NonEmptyStr, validated_dataclass

# Tags of the kinds of `launch`; no key of a table is equal to one.
_FOR_ALL, _BY_KIND = "<for all>", "<by kind>"

Prefix = tuple[NonEmptyStr, ...]


class Need(NamedTuple):
    """Resources of a step: the mean number of cores, and the peak of memory in bytes."""

    cores: float
    memory: float


@validated_dataclass
class Launch:
    """The programs that start steps, by the kind of the step; steps of a kind without one start on this machine.

    Attributes:
        data: starts steps that read, write and export, which need cores and memory.
        training: starts trainings, and other steps that compute with a model for long: those that want a GPU.
        measurement: starts steps that measure time, and so want a machine for themselves.
    """

    data: Prefix = ()
    training: Prefix = ()
    measurement: Prefix = ()


def _choose_launch(value: Any) -> str:
    return _BY_KIND if isinstance(value, dict | Launch) else _FOR_ALL


@validated_dataclass
class Machine:
    """Settings of the parallel execution of independent steps, of the programs that start steps, and of retries.

    A step is expected to need what it used the last time. A step that never ran, or that measures time, runs alone.

    Attributes:
        cores: number of cores that parallel steps may use together, above 0; None runs one step after the other.
        memory_gigabytes: memory that parallel steps may use together, in gigabytes of 10^9 bytes; None for all memory
            of the machine or of its container. It needs `cores`.
        retries: number of restarts, 0 to 100, of a step that was killed from outside or lost its connection.
        launch: program and arguments that start the command behind them, such as `["srun", "--mem=32G"]`: each step is
            such a command. A table has programs by the kind of the step. Empty for processes of this machine.
        python: the interpreter of steps that `launch` starts, with this project installed; empty for the one that runs
            the command. It needs `launch`.
        join_seconds: how long the chief of `TF_CONFIG` waits for the other workers of a training, and they for it.
    """

    cores: pydantic.PositiveFloat | None = None
    memory_gigabytes: pydantic.PositiveFloat | None = None
    retries: Annotated[int, pydantic.Field(ge=0, le=100)] = 0
    launch: Annotated[
        Annotated[Prefix, pydantic.Tag(_FOR_ALL)] | Annotated[Launch, pydantic.Tag(_BY_KIND)],
        pydantic.Discriminator(_choose_launch),
    ] = ()
    python: str = ""
    join_seconds: pydantic.PositiveFloat = 600.0

    @pydantic.model_validator(mode="after")
    def _check_memory(self) -> Self:
        memory = self.memory_gigabytes
        rule = "be left out without cores, as steps run one after the other"
        check("Machine", "memory_gigabytes", memory is None or self.cores is not None, rule, memory)
        rule = "be left out without launch, as steps run in processes of the command's interpreter"
        check("Machine", "python", not self.python or self.launch != (), rule, self.python)
        return self

    def launch_prefix(self, kind: StepKind) -> Prefix:
        """The program that starts steps of a kind, and its arguments; empty for processes of this machine."""
        return getattr(self.launch, kind) if isinstance(self.launch, Launch) else self.launch

    def check_programs(self) -> None:
        """Checks that the programs that start steps can be run here."""
        kinds: tuple[StepKind, ...] = ("data", "training", "measurement")
        for prefix in (self.launch_prefix(kind) for kind in kinds):
            if prefix and shutil.which(prefix[0]) is None:
                raise InputError(
                    f"machine.launch must begin with a program that is installed here, got {prefix[0]!r}, which is not "
                    "on PATH"
                )

    def has_room(self, need: Need | None, running: Sequence[Need | None]) -> bool:
        """Whether a step may start beside the running ones; None stands for a step that has to run alone."""
        if not running:
            return True
        needs = [resources for resources in (need, *running) if resources is not None]
        if self.cores is None or len(needs) <= len(running):
            return False
        limit = self.memory_gigabytes
        memory = usable_memory() if limit is None else 1e9 * limit
        return sum(need.cores for need in needs) <= self.cores and sum(need.memory for need in needs) <= memory


ONE_BY_ONE = Machine()
