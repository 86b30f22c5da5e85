"""The history of a training: a reproducible file without times, and a live record with times for TensorBoard."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import tensorflow as tf

Entry = dict[str, float]

# Marks a tensor as a scalar for TensorBoard, which need not be installed.
_SCALAR = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"), data_class="DATA_CLASS_SCALAR"
)


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
