"""The table of the general distillation, before a task."""

from typing import Self

import pydantic

from components.sources.text import TextSource
from keras_bert.core.validation import validated_dataclass
from keras_bert.options.compression import StateImitation
from keras_bert.options.training import Precision, Training


@validated_dataclass
class GeneralDistillationSettings(Training, StateImitation, TextSource):
    """Settings of the distillation of the initial model's states into a student, on texts without labels."""

    epochs: pydantic.PositiveFloat = 1.0
    # As MiniLM's (Wang et al. 2020, section 4.1).
    learning_rate: pydantic.PositiveFloat = 5e-4
    precision: Precision = "auto"

    @pydantic.model_validator(mode="after")
    def _check_losses(self) -> Self:
        self.check_on()
        return self
