"""Which tokens are hidden."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check

Strategy = Literal["tokens", "whole_words", "spans"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Masking:
    """Which tokens of a sequence to hide and what to put in their place (Devlin et al. 2019, section 3.1).

    Attributes:
        rate: share of the tokens to predict; special tokens do not count.
        max_predictions: the most predictions a sequence; 20 for 128 tokens in the released code.
        mask_share: share of the chosen tokens replaced by `[MASK]`.
        random_share: share of the chosen tokens replaced by a random piece; the rest stay as they are.
        strategy: what is hidden together: `tokens` one by one, all pieces of `whole_words` (as in the whole word
            masking checkpoints of google-research/bert), or `spans` of words (Joshi et al. 2020, section 3.1).
    """

    strategy: Strategy = "tokens"
    rate: float = 0.15
    max_predictions: int = 20
    mask_share: float = 0.8
    random_share: float = 0.1

    def __post_init__(self) -> None:
        check("Masking", "rate", 0 < self.rate < 1, "be between 0 and 1", self.rate)
        check("Masking", "max_predictions", self.max_predictions >= 1, "be at least 1", self.max_predictions)
        for field in ("mask_share", "random_share"):
            check("Masking", field, 0 <= getattr(self, field) <= 1, "be between 0 and 1", getattr(self, field))
        room = self.mask_share + self.random_share <= 1 + 1e-9
        check("Masking", "mask_share", room, f"leave room for random_share={self.random_share}", self.mask_share)
        known = get_args(Strategy)
        check("Masking", "strategy", self.strategy in known, f"be one of {known}", self.strategy)

    def scaled(self, length: int, longest: int) -> "Masking":
        """For rows of another length: as many predictions a token as `max_predictions` allows in `longest` tokens."""
        return dataclasses.replace(self, max_predictions=max(1, round(self.max_predictions * length / longest)))
