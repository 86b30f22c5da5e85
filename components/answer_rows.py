"""Teacher and TaskExamples -> TaskExamples with the teacher's answers, and more rows than there are labels for."""

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress, workplace
from components.sources.lines import read_lines
from components.sources.text import TextSource
from components.training.asked_teacher import AskedTeacher
from components.training.model_folder import read_model
from components.training.on_rows import LENGTH_BUCKETS
from keras_bert.folders import LABELS_FILE
from keras_bert.options.transfer import OF_SINGLE_TEXTS, Transfer

if TYPE_CHECKING:
    import numpy as np

    from keras_bert.data.replaced_words import Guess, WordReplacer
    from keras_bert.tasks.base import Task

    Array = np.ndarray[Any, Any]
    Batch = dict[str, Array]

# Rows that are asked at once, and how many of these stand in a part, which is written whole or not at all.
_ROWS, _BATCHES = 64, 64


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def answer_rows(
    teacher: Input[Model],
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    answered: Output[TaskExamples],
    transfer: Transfer = Transfer(),
    unlabelled: TextSource | None = None,
) -> None:
    """Asks a teacher once what students will want to know of every row again and again.

    Rows are those of training and validation, copies of the training rows with other words, and texts without labels.
    What has no label of its own gets the teacher's; test rows are left out. A step that is interrupted goes on with the
    next part of the rows.

    Args:
        teacher: of any task.
        pretrained: what it was made of. If it fills in hidden words, it says which words could take a word's place;
            otherwise those do whose vectors in its table are nearest.
        examples: the labelled rows.
        answered: the same with `teacher_answers`; the counts say how many rows there are of each kind.
        transfer: which rows there are.
        unlabelled: further texts, each line of a document.

    Raises:
        InputError: there are unlabelled texts, and rows of the task are no single texts.
    """
    from keras_bert.data.records import read_features, write_features
    from keras_bert.data.schemas import TEACHER_ANSWERS

    content = read_features(examples.path)
    if unlabelled is not None and content["task"] not in OF_SINGLE_TEXTS:
        raise InputError(f"unlabelled must be left out but for {' and '.join(OF_SINGLE_TEXTS)}, got {content['task']}")
    task = read_model(teacher)
    asked = AskedTeacher(task, content["task"])
    replacer = _make_replacer(read_model(pretrained), task, transfer) if transfer.copies else None
    kinds = _kinds(examples, task, transfer, replacer, unlabelled)
    counts: dict[str, int] = {}
    with _folder_of_parts() as place:
        for split in ("train", "validation"):
            with answered.file(f"{split}.tfrecord").open("wb") as whole:
                for file in _write_parts(kinds, split, asked, place, counts):
                    whole.write(file.read_bytes())
    for name in ("train.jsonl.gz", "validation.jsonl.gz", LABELS_FILE):
        if examples.file(name).is_file():
            shutil.copyfile(examples.file(name), answered.file(name))
    added = {name: counts[name] for name in ("copies", "unlabelled") if name in counts}
    own = content["counts"]
    rows = {"train": own["train"] + sum(added.values()), "validation": own["validation"]}
    write_features(answered.path, {**content, "counts": rows, TEACHER_ANSWERS: asked.described()})
    answered.counts = rows | added


class _Kind(NamedTuple):
    """Rows of one kind.

    Attributes:
        name: of the kind.
        split: that they go to.
        batches: how many there are.
        has_labels: whether labels of their own go with them.
        read: gives the batches from a number on.
    """

    name: str
    split: str
    batches: int
    has_labels: bool
    read: "Callable[[int], Iterator[Batch]]"


def _kinds(
    examples: TaskExamples,
    task: "Task",
    transfer: Transfer,
    replacer: "WordReplacer | None",
    unlabelled: TextSource | None,
) -> list[_Kind]:
    from keras_bert.data.task_batches import task_batches

    def labelled(name: str, split: str, copy: int = 0) -> _Kind:
        batches = task_batches(examples.path, split, _ROWS, bucket_boundaries=LENGTH_BUCKETS)

        def read(start: int) -> "Iterator[Batch]":
            for number, tensors in enumerate(batches.after(start, stop=batches.per_epoch), start=start):
                batch = {name: tensor.numpy() for name, tensor in tensors.items()}
                if copy and replacer is not None:
                    _replace(batch, replacer, number, copy)
                yield batch

        return _Kind(name, split, batches.per_epoch, not copy, read)

    found = [labelled("labelled", "train"), labelled("validation", "validation")]
    found += [labelled("copies", "train", copy) for copy in range(1, transfer.copies + 1)]
    if unlabelled is not None:
        texts = list(read_lines(unlabelled))
        batches = -(-len(texts) // _ROWS)
        found.append(_Kind("unlabelled", "train", batches, False, lambda start: _encode(texts, task, start)))
    return found


def _replace(batch: "Batch", replacer: "WordReplacer", number: int, copy: int) -> None:
    import numpy as np

    rows = number * _ROWS + np.arange(len(batch["token_ids"]))
    for side, prefix in enumerate(("", "second_")):
        if f"{prefix}token_ids" in batch:
            batch[f"{prefix}token_ids"] = replacer(batch, rows, 2 * copy + side, prefix)


def _encode(texts: list[str], task: "Task", start: int) -> "Iterator[Batch]":
    for first in range(start * _ROWS, len(texts), _ROWS):
        part = texts[first : first + _ROWS]
        rows = task.tokenizer.encode(part, max_length=task.max_length, pad_to_longest=True)
        yield {name: values.numpy() for name, values in rows.items()}


def _make_replacer(pretrained: "Task", task: "Task", transfer: Transfer) -> "WordReplacer":
    import numpy as np

    from keras_bert.data.replaced_words import WordReplacer

    table = np.asarray(pretrained.model.get_layer("token_embedding").matrix())
    guess = _guess(pretrained) if pretrained.name == "pretraining" else None
    return WordReplacer(
        task.tokenizer,
        table,
        replaced=transfer.replaced,
        candidates=transfer.candidates,
        seed=transfer.seed,
        guess=guess,
    )


def _guess(pretrained: "Task") -> "Guess":
    import numpy as np

    names = [spec.name for spec in pretrained.model.inputs if spec.name != "mask_positions"]

    def guess(inputs: "Mapping[str, Array]", places: "Array") -> "Array":
        chosen = {"mask_positions": np.maximum(places, 0), **{name: inputs[name] for name in names}}
        outputs = pretrained.model.predict_on_batch(chosen)
        return np.array(outputs["masked_tokens"], np.float32)

    return guess


@contextlib.contextmanager
def _folder_of_parts() -> Iterator[Path]:
    """One that outlives an interrupted step, where there is somebody to keep it."""
    kept = workplace().checkpoints
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def _write_parts(
    kinds: list[_Kind], split: str, asked: AskedTeacher, place: Path, counts: dict[str, int]
) -> Iterator[Path]:
    """The files of a split, in order; those that an interrupted step left are not made again.

    `counts` gets how many rows of each kind they hold.
    """
    from keras_bert.data.records import count_records, write_records

    total = sum(kind.batches for kind in kinds)
    for number, kind in enumerate(kinds):
        if kind.split != split:
            continue
        # Known before any part is found finished.
        asked.answer(next(kind.read(0)))
        for start in range(0, kind.batches, _BATCHES):
            file = place / f"{number:03d}-{start:06d}.tfrecord"
            done = sum(each.batches for each in kinds[:number]) + start
            report_progress(done, total, f"{kind.name} rows of {split}")
            if not file.is_file():
                write_records(file, _part(kind.read(start), asked, has_labels=kind.has_labels))
            counts[kind.name] = counts.get(kind.name, 0) + count_records([str(file)])
            yield file


def _part(batches: "Iterator[Batch]", asked: AskedTeacher, *, has_labels: bool) -> Iterator[bytes]:
    for batch in itertools.islice(batches, _BATCHES):
        yield from asked.records(batch, has_labels=has_labels)
