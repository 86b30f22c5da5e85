"""The methods of a task that attach, merge and drop an adapter of its encoder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from keras_bert.core.checks import check
from keras_bert.options.adaptation import Adaptation, Bias, Prompt
from keras_bert.tasks.checks import check_keras_model, is_keras_model

if TYPE_CHECKING:
    from keras_bert.adaptation.adapter import Adapter
    from keras_bert.layers.attachments import Attachments


class Adaptable:
    """A task whose encoder may have an adapter.

    Attributes:
        adapter: the adapter beside the encoder; None without one, or after it was merged or dropped.
        positions: maximum number of tokens of the model.
        max_length: maximum number of tokens of a text or pair, special tokens included.
        space: the identifier of the space of the vectors, see `Embedding.space`; empty for tasks without vectors.
    """

    name: ClassVar[str]
    model: Any
    adapter: Adapter | None = None
    positions: int
    max_length: int
    space: str = ""

    def adapt(self, adaptation: Adaptation) -> Adapter:
        """Freezes the encoder and attaches an adapter: training changes the adapter's weights and the head.

        Call it before `compile`. The adapter stays attached until `merge_adapter`, `drop_adapter`, or its `detach`.

        Raises:
            ValueError: the task has an adapter, another one is attached to the encoder, or the encoder has no place for
                this one. The task is then as it was.
        """
        from keras_bert.adaptation.adapter import Adapter, check_free

        check_keras_model(self, "adapted")
        check(type(self).__name__, "adapter", self.adapter is None, "be None before another is trained", self.adapter)
        check_free(self.model)
        adapter = Adapter(self.model, adaptation)
        if isinstance(adaptation, Prompt):
            room = self.positions - adaptation.tokens
            rule = f"leave room for max_length={self.max_length} in the encoder's {self.positions} positions"
            check("Prompt", "tokens", self.max_length <= room, rule, adaptation.tokens)
        adapter.attach()
        self.adapter = adapter
        return adapter

    def drop_adapter(self) -> None:
        """Removes the adapter: the encoder is as before `adapt`; the head stays as it is.

        Raises:
            ValueError: there is no adapter.
        """
        self._required_adapter("dropped").drop()
        self.adapter = None

    def merge_adapter(self) -> None:
        """Adds the adapter to the encoder's weights, permanently.

        Raises:
            ValueError: there is no adapter, or `Adapter.merge` refuses it.
        """
        adapter, space = self._required_adapter("merged"), self.space
        adapter.merge()
        # The weights changed, and the vectors did not.
        self.adapter, self.space = None, space

    def _required_adapter(self, use: str) -> Adapter:
        if self.adapter is None:
            raise ValueError(f"{type(self).__name__}.adapter must be there to be {use}, got None")
        return self.adapter

    @contextlib.contextmanager
    def weights_for(self, file_format: str) -> Iterator[None]:
        """A context in which the model's weights contain the adapter, for formats of other libraries."""
        if self.adapter is not None and not isinstance(self.adapter.adaptation, Bias):
            kind = self.adapter.adaptation.kind
            way_out = (
                "call task.merge_adapter() first, or write the adapter alone with keras_bert.interop.peft.to_peft"
                if self.adapter.merges
                else "export the task to LiteRT or ONNX, which keep it, or call task.drop_adapter() first"
            )
            raise ValueError(
                f"{type(self).__name__}.adapter must be merged or dropped for {file_format}, got {kind!r}: {way_out}"
            )
        with self._attached(self.adapter):
            yield

    def _attached(self, adapter: Adapter | None) -> AbstractContextManager[None]:
        """A context with this adapter attached, or none; other threads cannot change that."""
        attachments = self._attachments()
        return contextlib.nullcontext() if attachments is None else attachments.using(adapter)

    def _answering(self) -> AbstractContextManager[None]:
        """A context with the task's adapter attached, or none, whatever adapters other tasks on the encoder have."""
        attachments = self._attachments()
        return contextlib.nullcontext() if attachments is None else attachments.sharing(self.adapter)

    def _attachments(self) -> Attachments | None:
        """The adapters of the encoder; None where it has none, or where the model is an exported file."""
        if not is_keras_model(self.model):
            return None
        from keras_bert.models.traces import attachments_of

        return attachments_of(self.model)
