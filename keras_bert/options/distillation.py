"""How a student listens to its teacher."""

import dataclasses

from keras_bert.checks import check


@dataclasses.dataclass(frozen=True, kw_only=True)
class Distillation:
    """How a student listens to its teacher (Hinton et al. 2015, section 2).

    Attributes:
        temperature: divides both models' logits; higher shows more of what the teacher deems nearly right.
        hard_weight: share of the loss that goes to the true labels; the rest goes to the teacher.
    """

    temperature: float = 2.0
    hard_weight: float = 0.5

    def __post_init__(self) -> None:
        check("Distillation", "temperature", self.temperature > 0, "be positive", self.temperature)
        check("Distillation", "hard_weight", 0 <= self.hard_weight <= 1, "be between 0 and 1", self.hard_weight)
