"""Which tokens attend to all, and are seen by all, in a graph whose others look around themselves alone."""

from typing import Any, Literal, get_args

import keras
from keras import ops

from keras_bert.checks import check
from keras_bert.layers.adapters import PromptBorder

GlobalKind = Literal["none", "first", "question"]


def before_separator(token_ids: Any, separator: int) -> Any:
    """Token ids int32 (batch, length) -> 1 in front of the first separator of a row, 0 from it on, int32."""
    ends = ops.cast(ops.equal(token_ids, separator), "int32")
    return ops.cast(ops.equal(ops.cumsum(ends, axis=1), 0), "int32")


class GlobalTokens(PromptBorder):
    """Tells which of the first tokens are global; no others are, as Beltagy et al. 2020, section 3.1, choose them.

    That there is a bound keeps all shapes known before a text is read.

    Args:
        kind: `none`; the `first` token, for classes; or those of the `question`, which the first separator ends.
        most: tokens that are looked at, from the first on; without meaning where there are none.
        separator: its id, for questions.

    Attributes:
        tokens: see `PromptBorder`; those of a prompt are all global, as else none but their neighbours would see them.

    Raises:
        ValueError: there is no such kind, `most` is below 1, or a question has no separator.
    """

    def __init__(self, kind: GlobalKind = "none", most: int = 1, separator: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        known = get_args(GlobalKind)
        check("GlobalTokens", "kind", kind in known, f"be one of {known}", kind)
        check("GlobalTokens", "most", most >= 1, "be at least 1", most)
        said = kind != "question" or separator is not None
        check("GlobalTokens", "separator", said, "be set where the question's tokens are global", separator)
        self.kind, self.most, self.separator = kind, most, separator

    @property
    def looked_at(self) -> int:
        """Of the text's own tokens how many may be global."""
        return {"none": 0, "first": 1, "question": self.most}[self.kind]

    def call(self, token_ids: Any, padding_mask: Any) -> Any:
        """Both int32 (batch, length) -> 1 for a global token, int32 (batch, no more than the first tokens)."""
        end = self.tokens + self.looked_at
        if end == 0:
            # Of a slice of texts of any length TensorFlow does not know that it is empty.
            return ops.zeros((ops.shape(padding_mask)[0], 0), "int32")
        mask = padding_mask[:, :end]
        if self.kind != "question":
            return mask
        inside = before_separator(token_ids[:, self.tokens : end], self.separator or 0)
        return ops.multiply(mask, ops.pad(inside, ((0, 0), (self.tokens, 0)), constant_values=1))

    def compute_output_spec(self, token_ids: Any, padding_mask: Any) -> keras.KerasTensor:
        """How many there are is known when the model runs: a prompt may come, and a text may be shorter."""
        return keras.KerasTensor((token_ids.shape[0], None), "int32")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "kind": self.kind, "most": self.most, "separator": self.separator}
