"""The table of a student's distillation before its task."""

import dataclasses

from components.sources.text import TextSource
from keras_bert.options.imitation import StateImitation
from keras_bert.options.training import Precision, Training


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneralDistillationSettings(Training, StateImitation, TextSource):
    """Which texts a student reads before it has a task, what of the start it imitates, and how it trains meanwhile."""

    epochs: float = 1.0
    # As MiniLM's (Wang et al. 2020, section 4.1).
    learning_rate: float = 5e-4
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        Training.__post_init__(self)
        StateImitation.__post_init__(self)
        TextSource.__post_init__(self)
        self.check_on()
