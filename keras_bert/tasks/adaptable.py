"""What few weights beside a frozen encoder are to a task."""

import abc
import contextlib
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

from keras_bert.adaptation.adapter import Adapter
from keras_bert.adaptation.files import write_adapter
from keras_bert.checks import check
from keras_bert.models.traces import forget_traces
from keras_bert.options.adaptation import Adaptation, Prompt


class Adaptable(abc.ABC):
    """A task whose encoder may have an adapter beside it.

    Attributes:
        model: of the task.
        adapter: what was trained beside the encoder, if it has not become part of the weights.
        positions: the most tokens that the model can take.
        max_length: the most tokens of a text or pair, special tokens included.
    """

    name: ClassVar[str]
    model: Any
    adapter: Adapter | None = None
    positions: int
    max_length: int

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """See `Task`."""

    @abc.abstractmethod
    def head(self) -> dict[str, Any]:
        """See `Task`."""

    def adapt(self, adaptation: Adaptation) -> Adapter:
        """Freezes the encoder: from here on training changes a few new weights, see `Adapter`, and the head.

        Call it before `compile`. The adapter stays attached; `merge_adapter`, or its `detach`, ends that.

        Raises:
            ValueError: the task has an adapter, or the encoder no place for this one.
        """
        check(type(self).__name__, "adapter", self.adapter is None, "be None before another is trained", self.adapter)
        adapter = Adapter(self.model, adaptation)
        if isinstance(adaptation, Prompt):
            room = self.positions - adaptation.tokens
            rule = f"leave room for max_length={self.max_length} in the encoder's {self.positions} positions"
            check("Prompt", "tokens", self.max_length <= room, rule, adaptation.tokens)
        adapter.attach()
        self.adapter = adapter
        forget_traces(self.model)
        return adapter

    def drop_adapter(self) -> None:
        """The encoder is as it was before `adapt`; the head stays as it is.

        Raises:
            ValueError: there is no adapter.
        """
        adapter = self._held("dropped")
        if adapter.attached:
            adapter.detach()
        self.adapter = None
        forget_traces(self.model)

    def merge_adapter(self) -> None:
        """The encoder's own weights say the same without it, for good.

        Raises:
            ValueError: there is none, or it is one that cannot be merged.
        """
        self._held("merged").merge()
        self.adapter = None
        forget_traces(self.model)

    def save_adapter(self, folder: str | os.PathLike[str]) -> None:
        """Writes what was trained, without the encoder; `load_adapter` reads it.

        Raises:
            ValueError: the task has no adapter.
        """
        write_adapter(self._held("saved"), Path(folder), {"task": self.name, **self.settings(), **self.head()})

    def _held(self, use: str) -> Adapter:
        if self.adapter is None:
            raise ValueError(f"{type(self).__name__}.adapter must be there to be {use}, got None")
        return self.adapter

    def _adapted(self, wanted: bool = True) -> AbstractContextManager[None]:
        """Within it the model answers with its adapter, if it has one; or without it."""
        return contextlib.nullcontext() if self.adapter is None else self.adapter.active(wanted)
