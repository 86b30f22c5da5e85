"""Rows that a student learns its teacher's answers to."""

import dataclasses

from keras_bert.checks import check

# Tasks whose rows may be single texts, as unlabelled ones are.
OF_SINGLE_TEXTS = ("classification", "regression")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transfer:
    """What rows there are beside the labelled ones.

    Attributes:
        copies: of each training row, with some of its words replaced (Jiao et al. 2020, section 3.2 and algorithm 1).
        replaced: the share of the words that are.
        candidates: how many words may take the place of one.
        seed: of the words that are replaced.
    """

    copies: int = 0
    replaced: float = 0.4
    candidates: int = 15
    seed: int = 0

    def __post_init__(self) -> None:
        check("Transfer", "copies", self.copies >= 0, "not be negative", self.copies)
        check("Transfer", "replaced", 0 < self.replaced <= 1, "be in (0, 1]", self.replaced)
        check("Transfer", "candidates", self.candidates >= 1, "be at least 1", self.candidates)
        check("Transfer", "seed", 0 <= self.seed < 2**32, "be from 0 on and below 2^32", self.seed)
