"""Labels rows with a teacher: TaskExamples with its outputs, and with rows that have no labels of their own."""

import contextlib
import itertools
import json
import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from components.artifacts.standard import Model, TaskExamples
from components.dsl.arrays import Array
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress, step_folders
from components.examples.overlap import resolve_leaks
from components.examples.registry import TASK_ROWS, check_unlabelled, read_rows
from components.examples.texts import split_texts
from components.sources.shared import NearOverlap, Overlap
from components.sources.text import TextSource, read_lines
from components.training.copy_filter import CopyFilter
from components.training.model_folder import read_model
from components.training.teacher_labeler import TeacherLabeler
from keras_bert.core.folders import LABELS_FILE, replaced_file
from keras_bert.core.row_limits import LENGTH_BUCKETS
from keras_bert.options.compression import TeacherLabels

if TYPE_CHECKING:
    from keras_bert.data.replaced_words import WordReplacer
    from keras_bert.tasks.base import Task

    Batch = dict[str, Array]

logger = logging.getLogger(__name__)

# Rows of a batch, and batches of a part: the rows that are written, or redone after an interruption, together.
_ROWS, _BATCHES = 64, 64


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"), kind="training")
def label_with_teacher(
    teachers: Input[list[Model]],
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    labelled: Output[TaskExamples],
    teacher_labels: TeacherLabels = TeacherLabels(),
    unlabelled: TextSource | None = None,
    overlap: Overlap = "keep",
    near_overlap: NearOverlap = "keep",
) -> None:
    """Runs teachers once on every row that a student learns from, so that no training step runs them again.

    The rows are those of training and validation, copies of the training rows with some words replaced, new pairs of
    their texts, and unlabelled texts. All but the first get the teacher's labels. Test rows are not labelled; they are
    read only to find other rows that are equal to one of them. An interrupted step resumes at the next part.

    The mean of the probabilities of several teachers is the answer. They were fine-tuned from the pre-trained model,
    whose masked-token head predicts replacements; without one, the nearest entries of its embedding table replace a
    word. `overlap` and `near_overlap` say what happens to copies, new pairs and unlabelled texts that are equal, or
    nearly, to a validation or test row, see `CopyFilter` and `resolve_leaks`.

    Raises:
        InputError: there are unlabelled texts, but a row of the task is more than a single text; or an unlabelled text
            is also a validation or test row, and `overlap` or `near_overlap` refuses that.
    """
    from keras_bert.data.records import write_features
    from keras_bert.data.schemas import HAS_LABEL, TEACHER_ANSWERS

    content = examples.features()
    if unlabelled is not None:
        check_unlabelled(content["task"])
    tasks = [read_model(teacher) for teacher in teachers]
    task, labeler = tasks[0], TeacherLabeler(tasks, has_given=HAS_LABEL in content["features"])
    replacer = _make_replacer(read_model(pretrained), task, teacher_labels) if teacher_labels.copies else None
    counts: dict[str, int] = {}
    texts: list[str] = []
    leaks: dict[str, int] = {}
    if unlabelled is not None:
        splits = {split: read_rows(examples, split) for split in ("validation", "test")}
        lines, rows_of_task = list(read_lines(unlabelled)), TASK_ROWS[content["task"]]
        texts, leaks = resolve_leaks(lines, splits, rows_of_task, overlap=overlap, near_overlap=near_overlap)
    kinds = _list_kinds(examples, task, teacher_labels, replacer, texts)
    is_augmented = teacher_labels.copies or teacher_labels.new_pairs
    copy_filter = CopyFilter(examples, overlap, near_overlap) if is_augmented else None
    copy_leaks = Counter[str]()
    # Parts are kept in the step's checkpoint folder, so that an interrupted step resumes; outside of a run there is
    # none.
    checkpoints = step_folders().checkpoints
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() if checkpoints is None else contextlib.nullcontext(str(checkpoints)) as place:
        for split in ("train", "validation"):
            with labelled.file(f"{split}.tfrecord").open("wb") as whole:
                for file in _write_parts(kinds, split, labeler, copy_filter, Path(place), counts, copy_leaks):
                    whole.write(file.read_bytes())
    for name in ("train.jsonl.gz", "validation.jsonl.gz", LABELS_FILE):
        if examples.file(name).is_file():
            shutil.copyfile(examples.file(name), labelled.file(name))
    added = {name: counts[name] for name in ("copies", "new_pairs", "unlabelled") if name in counts}
    counted = content["counts"]
    rows = {"train": counted["train"] + sum(added.values()), "validation": counted["validation"]}
    write_features(labelled.path, {**content, "counts": rows, TEACHER_ANSWERS: labeler.describe()})
    labelled.counts = rows | added | leaks | copy_leaks
    for name, count in copy_leaks.items():
        logger.warning("%s: %d", name.replace("_", " "), count)


class _RowKind(NamedTuple):
    """Rows of one kind; `read` yields the batches from an index on."""

    name: str
    split: str
    batches: int
    has_labels: bool
    read: "Callable[[int], Iterator[Batch]]"


def _list_kinds(
    examples: TaskExamples,
    task: "Task",
    teacher_labels: TeacherLabels,
    replacer: "WordReplacer | None",
    texts: list[str],
) -> list[_RowKind]:
    from keras_bert.data.neighbouring_pairs import neighbouring_pairs
    from keras_bert.data.schemas import list_feature
    from keras_bert.data.task_batches import task_batches

    content = examples.features()
    lists, rows = list_feature(content["task"]), content["counts"]["train"]

    def labelled(name: str, split: str, copy: int = 0) -> _RowKind:
        batches = task_batches(examples.path, split, _ROWS, bucket_boundaries=LENGTH_BUCKETS)

        def read(start: int) -> "Iterator[Batch]":
            for number, tensors in enumerate(batches.after(start, stop=batches.per_epoch), start=start):
                batch = {name: tensor.numpy() for name, tensor in tensors.items()}
                if copy and replacer is not None:
                    _replace_words(batch, replacer, number, copy)
                    if lists is not None:
                        # A loss compares the rows of a list: copies are not in that of the rows themselves.
                        batch[lists] = batch[lists] + copy * rows
                yield batch

        return _RowKind(name, split, batches.per_epoch, not copy, read)

    kinds = [labelled("labelled", "train"), labelled("validation", "validation")]
    kinds += [labelled("copies", "train", copy) for copy in range(1, teacher_labels.copies + 1)]
    if teacher_labels.new_pairs:
        firsts, seconds = split_texts(read_rows(examples, "train"))
        assert seconds is not None, "the check of the job refuses single texts"
        pairs = neighbouring_pairs(firsts, seconds, teacher_labels.new_pairs, teacher_labels.seed)
        if not pairs[0]:
            raise InputError("teacher_labels.new_pairs must be 0, as all pairs of the rows' texts are rows already")
        kinds.append(_RowKind("new_pairs", "train", -(-len(pairs[0]) // _ROWS), False, _encode(task, *pairs)))
    if texts:
        kinds.append(_RowKind("unlabelled", "train", -(-len(texts) // _ROWS), False, _encode(task, texts)))
    return kinds


def _replace_words(batch: "Batch", replacer: "WordReplacer", number: int, copy: int) -> None:
    rows = number * _ROWS + np.arange(len(batch["token_ids"]))
    for side, prefix in enumerate(("", "second_")):
        if f"{prefix}token_ids" in batch:
            batch[f"{prefix}token_ids"] = replacer(batch, rows, 2 * copy + side, prefix)


def _encode(task: "Task", *columns: list[str]) -> "Callable[[int], Iterator[Batch]]":
    """The batches of texts, or of first and second texts, from an index on."""

    def read(start: int) -> "Iterator[Batch]":
        for first in range(start * _ROWS, len(columns[0]), _ROWS):
            parts = (column[first : first + _ROWS] for column in columns)
            rows = task.tokenizer.encode(*parts, max_length=task.max_length, pad_to_longest=True)
            yield {name: values.numpy() for name, values in rows.items()}

    return read


def _make_replacer(pretrained: "Task", task: "Task", teacher_labels: TeacherLabels) -> "WordReplacer":
    from keras_bert.data.replaced_words import WordReplacer
    from keras_bert.tasks.pretraining import Pretraining

    table = np.asarray(pretrained.model.get_layer("token_embedding").matrix())
    names = [spec.name for spec in pretrained.model.inputs if spec.name != "mask_positions"]

    def guess(inputs: Mapping[str, Array], places: Array) -> Array:
        chosen = {"mask_positions": np.maximum(places, 0), **{name: inputs[name] for name in names}}
        return np.array(pretrained.model.predict_on_batch(chosen)["masked_tokens"], np.float32)

    return WordReplacer(
        task.tokenizer,
        table,
        replaced=teacher_labels.replaced,
        candidates=teacher_labels.candidates,
        seed=teacher_labels.seed,
        guess=guess if pretrained.name == Pretraining.name else None,
    )


def _write_parts(
    kinds: list[_RowKind],
    split: str,
    labeler: TeacherLabeler,
    copy_filter: CopyFilter | None,
    place: Path,
    counts: dict[str, int],
    copy_leaks: Counter[str],
) -> Iterator[Path]:
    """The files of a split, in order; files of an interrupted step are reused.

    Adds the number of rows of each kind to `counts`, and the numbers of removed copies to `copy_leaks`.
    """
    from keras_bert.data.records import count_records, write_records

    total = sum(kind.batches for kind in kinds)
    for number, kind in enumerate(kinds):
        if kind.split != split:
            continue
        # `labeler.describe` needs a batch, even if all files are reused.
        labeler.label(next(kind.read(0)))
        for start in range(0, kind.batches, _BATCHES):
            file = place / f"{number:03d}-{start:06d}.tfrecord"
            done = sum(earlier.batches for earlier in kinds[:number]) + start
            report_progress(done, total, f"{kind.name} rows of {split}")
            leaks_file = file.with_suffix(".json")
            if not file.is_file():
                batches: Iterator[Batch] = itertools.islice(kind.read(start), _BATCHES)
                leaks = Counter[str]()
                if copy_filter is not None and kind.name in ("copies", "new_pairs"):
                    batches = (copy_filter.select(batch, kind.name, leaks) for batch in batches)
                with replaced_file(file) as unfinished:
                    filled = (batch for batch in batches if len(batch["token_ids"]))
                    records = (labeler.records(batch, has_labels=kind.has_labels) for batch in filled)
                    write_records(unfinished, itertools.chain.from_iterable(records))
                    # Written before the part gets its name: if the part exists, so does this file.
                    leaks_file.write_text(json.dumps(leaks))
            copy_leaks.update(json.loads(leaks_file.read_text()))
            counts[kind.name] = counts.get(kind.name, 0) + count_records([str(file)])
            yield file
