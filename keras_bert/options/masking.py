"""The masking of tokens for pre-training."""

import dataclasses
from typing import Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import OpenShare, Share, validated_dataclass

Strategy = Literal["tokens", "whole_words", "spans"]


@validated_dataclass
class Masking:
    """Settings of the masking of a sequence (Devlin et al. 2019, section 3.1).

    Attributes:
        strategy: the unit of masking: `tokens` one by one, all tokens of `whole_words` (as in the whole word masking
            checkpoints of google-research/bert), or `spans` of words (Joshi et al. 2020, section 3.1).
        rate: share of the tokens to predict, above 0 and below 1; special tokens do not count.
        max_predictions: maximum number of predictions in a sequence; 20 for 128 tokens in the released code.
        mask_share: share of the chosen tokens that `[MASK]` replaces, 0 to 1.
        random_share: share of the chosen tokens that a random token replaces, 0 to 1; the rest stay as they are.
    """

    strategy: Strategy = "tokens"
    rate: OpenShare = 0.15
    max_predictions: pydantic.PositiveInt = 20
    mask_share: Share = 0.8
    random_share: Share = 0.1

    @pydantic.model_validator(mode="after")
    def _check_shares(self) -> Self:
        room = self.mask_share + self.random_share <= 1 + 1e-9
        check("Masking", "mask_share", room, f"leave room for random_share={self.random_share}", self.mask_share)
        return self

    def scaled(self, length: int, longest: int) -> "Masking":
        """The settings for rows of another length, with the same number of predictions a token.

        Args:
            length: number of tokens of these rows.
            longest: number of tokens that `max_predictions` is meant for.
        """
        return dataclasses.replace(self, max_predictions=max(1, round(self.max_predictions * length / longest)))
