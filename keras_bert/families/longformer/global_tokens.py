"""Chooses Longformer's global tokens."""

from typing import Any, Literal

import keras
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.tensors import Tensor
from keras_bert.layers.adapters import PromptAwareLayer
from keras_bert.layers.separator import SeparatorReader

GlobalKind = Literal["none", "first", "question"]


@keras.saving.register_keras_serializable("keras_bert")
class GlobalTokens(SeparatorReader, PromptAwareLayer):
    """Marks Longformer's global tokens among the first tokens of a text (Beltagy et al. 2020, section 3.1).

    The number of these first tokens is fixed, so that shapes do not depend on the text.

    Args:
        kind: `none`; `first`, the first token, for classification; `question`, all tokens before the first separator,
            for question answering.
        most: the largest number of global tokens of a question; further tokens of the question are not global.
        separator: the id of the separator; only `question` needs it.

    Attributes:
        tokens: the number of tokens of a soft prompt, see `PromptAwareLayer`. They are global: otherwise only the
            tokens within their window would attend to them.

    Raises:
        ValueError: `most` is below 1, or a question has no separator.
    """

    def __init__(self, kind: GlobalKind = "none", most: int = 1, separator: int | None = None, **kwargs: Any) -> None:
        super().__init__(separator, **kwargs)
        check("GlobalTokens", "most", most >= 1, "be at least 1", most)
        has_separator = kind != "question" or separator is not None
        check("GlobalTokens", "separator", has_separator, "be set where the question's tokens are global", separator)
        self.kind, self.most = kind, most

    @property
    def candidates(self) -> int:
        """The number of first tokens that may be global, without those of a prompt."""
        return {"none": 0, "first": 1, "question": self.most}[self.kind]

    def call(self, token_ids: Tensor, padding_mask: Tensor) -> Tensor:
        """Both int32 (batch, length) -> 1 for a global token, int32 (batch, first tokens)."""
        end = self.tokens + self.candidates
        if end == 0:
            # A slice would do, but TensorFlow could not infer that it is empty.
            return ops.zeros((ops.shape(padding_mask)[0], 0), "int32")
        mask = padding_mask[:, :end]
        if self.kind != "question":
            return mask
        in_question = self.before_separator(token_ids[:, self.tokens : end])
        return ops.multiply(mask, ops.pad(in_question, ((0, 0), (self.tokens, 0)), constant_values=1))

    def compute_output_spec(self, token_ids: Tensor, padding_mask: Tensor) -> keras.KerasTensor:
        """(batch, None): the number of first tokens is known only at run time, as a prompt may be added."""
        return keras.KerasTensor((token_ids.shape[0], None), "int32")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "kind": self.kind, "most": self.most}
