"""TaskExamples and Folds -> TaskExamples without the training rows of one fold."""

import itertools
import shutil
from collections.abc import Iterator, Sequence

from components.artifacts.standard import TaskExamples
from components.dsl.component import Input, Output, component
from components.examples.registry import TASK_ROWS, read_rows, write_rows
from keras_bert.core.folders import LABELS_FILE
from plugins.label_errors.artifacts import Folds


@component(libraries=("tensorflow",))
def leave_out_fold(
    examples: Input[TaskExamples], folds: Input[Folds], kept: Output[TaskExamples], fold: int = 0
) -> None:
    """Leaves out the training rows of a fold; validation rows stay, and there are no test rows."""
    from keras_bert.data.records import write_features, write_records

    content, fold_of_row = examples.features(), folds.read()
    task = TASK_ROWS[content["task"]]
    rows = [row for row, other in zip(read_rows(examples, "train"), fold_of_row, strict=True) if other != fold]
    records = _read_kept(examples, content["task"], [other != fold for other in fold_of_row])
    counts = {
        "train": write_records(kept.file("train.tfrecord"), records),
        "validation": content["counts"]["validation"],
    }
    write_rows(kept.file("train.jsonl.gz"), task, rows)
    for name in ("validation.tfrecord", "validation.jsonl.gz", LABELS_FILE):
        shutil.copyfile(examples.file(name), kept.file(name))
    changes = {
        "counts": counts,
        "rows": {"train": len(rows), "validation": content["rows"]["validation"]},
        "labels": {**content["labels"], "train": dict(sorted((task.count_labels(rows) or {}).items()))},
    }
    write_features(kept.path, {**content, **changes})
    kept.counts = counts


def _read_kept(examples: TaskExamples, task: str, is_kept: Sequence[bool]) -> Iterator[bytes]:
    """The records of the rows that are kept, with the new number of their row where they hold one."""
    import tensorflow as tf

    from keras_bert.data.records import read_serialized
    from keras_bert.data.schemas import SCHEMAS

    new_numbers = [count - 1 for count in itertools.accumulate(is_kept)]
    for record_number, record in enumerate(read_serialized([str(examples.file("train.tfrecord"))])):
        raw = record.numpy()
        if "row" not in SCHEMAS[task]:
            if is_kept[record_number]:
                yield raw
            continue
        example = tf.train.Example.FromString(raw)
        value = example.features.feature["row"].int64_list.value
        if is_kept[value[0]]:
            value[0] = new_numbers[value[0]]
            yield example.SerializeToString(deterministic=True)
