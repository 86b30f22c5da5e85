"""The loss between the answers of a student and of its teacher."""

import pydantic

from keras_bert.core.validation import Share, validated_dataclass


@validated_dataclass
class Distillation:
    """Settings of the distillation of a teacher's answers (Hinton et al. 2015, section 2).

    Attributes:
        temperature: divisor of the logits of both models, above 0; a higher one shows more of the differences between
            unlikely labels.
        hard_weight: share of the loss that goes to the true labels, 0 to 1; the rest goes to the teacher's answers.
    """

    temperature: pydantic.PositiveFloat = 2.0
    hard_weight: Share = 0.5
