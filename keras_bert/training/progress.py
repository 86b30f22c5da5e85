"""Progress and speed of a training."""

import dataclasses
import time

from keras_bert.training.history import Entry


@dataclasses.dataclass
class Progress:
    """The progress of a training, as plain values for checkpoints.

    Attributes:
        window: sum and weight of every metric, for every step since the last entry of the history.
        best: the best value of the selection metric, at `best_step`.
        waited: number of validations since then.
    """

    step: int = 0
    history: list[Entry] = dataclasses.field(default_factory=list)
    window: list[dict[str, tuple[float, float]]] = dataclasses.field(default_factory=list)
    best: float | None = None
    best_step: int = 0
    waited: int = 0
    ended: bool = False


@dataclasses.dataclass
class Clock:
    """Seconds and tokens since the last entry of the history.

    `since` is a time of the monotonic clock, `waiting` the seconds that steps waited for batches; padding is no token.
    """

    since: float = dataclasses.field(default_factory=time.monotonic)
    waiting: float = 0.0
    tokens: float = 0.0

    def times(self) -> Entry:
        """Tokens a second, and the share of the time that steps waited for batches."""
        seconds = max(time.monotonic() - self.since, 1e-9)
        return {"tokens_per_second": self.tokens / seconds, "waiting_share": self.waiting / seconds}
