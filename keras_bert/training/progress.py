"""Where a training stands, and how fast it goes."""

import dataclasses
import time

from keras_bert.training.history import Entry


@dataclasses.dataclass
class Progress:
    """Where a training stands; plain values, so that it goes into a checkpoint.

    Attributes:
        step: steps done.
        history: see `Trainer.fit`.
        window: of each step since the last entry the sum and weight of every metric.
        best: the best value of the metric to select by.
        best_step: after which step that was.
        waited: validations since.
        ended: whether there is nothing more to do.
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

    Attributes:
        since: when it began.
        waiting: seconds in which the step waited for its batch.
        tokens: worked on, padding left out.
    """

    since: float = dataclasses.field(default_factory=time.monotonic)
    waiting: float = 0.0
    tokens: float = 0.0

    def times(self) -> Entry:
        """For the running record."""
        seconds = max(time.monotonic() - self.since, 1e-9)
        return {"tokens_per_second": self.tokens / seconds, "waiting_share": self.waiting / seconds}
