"""Rows that a teacher labels for its student."""

import pydantic

from keras_bert.core.validation import PositiveShare, Seed, validated_dataclass


@validated_dataclass
class TeacherLabels:
    """Augmentation of the training rows: copies in which some words are replaced.

    Attributes:
        copies: number of copies of each training row (Jiao et al. 2020, section 3.2 and algorithm 1).
        replaced: share of the words of a copy that are replaced, above 0 and at most 1.
        candidates: number of words from which a replacement is drawn.
        seed: seed of the replacements, 0 to 2^32 - 1.
    """

    copies: pydantic.NonNegativeInt = 0
    replaced: PositiveShare = 0.4
    candidates: pydantic.PositiveInt = 15
    seed: Seed = 0
