"""The history of a training: its entries, the record of a running one, and its progress."""

import dataclasses
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import tensorflow as tf

Entry = dict[str, float]

# Marks a tensor as a scalar for TensorBoard, which need not be installed.
_SCALAR = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"), data_class="DATA_CLASS_SCALAR"
)


class History(list[Entry]):
    """The entries of a training on rows in memory."""

    @property
    def history(self) -> dict[str, list[float]]:
        """The values of each name in order, as in Keras: `loss`, metrics, and those of validation rows as `val_...`."""
        names = dict.fromkeys(name for entry in self for name in entry)
        return {name.replace("validation_", "val_"): [entry[name] for entry in self if name in entry] for name in names}


def write_history(history: Sequence[Mapping[str, float | str]], path: Path) -> None:
    """Writes the history as JSON lines, without times, so that equal trainings give equal files."""
    path.write_text("".join(map(_line, history)))


class RunningRecord:
    """Writes the history of a running training as `history.jsonl` and as TensorBoard scalars.

    `earlier` are entries from before an interruption.
    """

    def __init__(self, folder: str | os.PathLike[str], earlier: Sequence[Entry] = ()) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = self._folder / "history.jsonl"
        self._file.write_text("")
        self._writer = tf.summary.create_file_writer(os.fspath(self._folder))
        for entry in earlier:
            self.add(entry)

    def add(self, entry: Entry, times: Entry | None = None) -> None:
        """Adds an entry of the history, and its speed if `times` is given."""
        content = {**entry, **(times or {})}
        with self._file.open("a") as stream:
            stream.write(_line(content))
        with self._writer.as_default(step=int(entry["step"])):
            for name, value in content.items():
                if name != "step":
                    tf.summary.write(name, tf.constant(value, tf.float32), metadata=_SCALAR)
        self._writer.flush()

    def close(self) -> None:
        """Closes the files."""
        self._writer.close()


def _line(entry: Mapping[str, float | str]) -> str:
    return json.dumps(entry, sort_keys=True) + "\n"


@dataclasses.dataclass
class Progress:
    """The progress of a training, as plain values for checkpoints.

    Attributes:
        window: sum and weight of every metric, for every step since the last entry of the history.
        best: the best mean of the metrics that select the weights, with a minus before losses, at `best_step`.
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

    `since` is a time of the monotonic clock, `waiting` the seconds steps waited for batches. Padding does not count.
    """

    since: float = dataclasses.field(default_factory=time.monotonic)
    waiting: float = 0.0
    tokens: float = 0.0

    def times(self) -> Entry:
        """Tokens a second, and the share of the time that steps waited for batches."""
        seconds = max(time.monotonic() - self.since, 1e-9)
        return {"tokens_per_second": self.tokens / seconds, "waiting_share": self.waiting / seconds}
