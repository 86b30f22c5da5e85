"""The search for wrong labels among training rows."""

from typing import Annotated, Literal

import pydantic

from keras_bert.core.validation import Seed, validated_dataclass

LabelScore = Literal["self_confidence", "normalized_margin"]


@validated_dataclass
class LabelErrorSearch:
    """Settings of the search for training rows whose labels are likely wrong (Northcutt et al. 2021).

    Attributes:
        folds: number of parts of the training rows, 2 to 100; a model that is trained without a part judges its rows.
            As many models are trained, with the settings of the fine-tuning.
        seed: seed of the folds.
        score: the order of rows: `self_confidence`, the probability of the given label, or `normalized_margin`, its
            margin above the most probable other label; the lowest are listed first.
    """

    folds: Annotated[int, pydantic.Field(ge=2, le=100)] = 5
    seed: Seed = 0
    score: LabelScore = "self_confidence"
