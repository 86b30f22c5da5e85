"""The duration of a job that never ran, from the matrix products of its trainings and the speed of this machine."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import psutil

from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.examples.row_traits import measure_tokens
from components.sources.checkpoint import Checkpoint
from components.sources.retrieval import RetrievalSource
from keras_bert.core.processor import native_precision, usable_processors
from keras_bert.options.compression import Student
from pipeline.capabilities import enabled_capabilities, split_job
from pipeline.settings.schema import Settings

# Kaplan et al. 2020, section 2.1: two operations for each weight and token forward, and four backward.
_FORWARD, _TRAINING = 2, 6
# A training step's products per second relative to one large float32 product in NumPy, a rough guess; the step also
# normalizes, drops and updates. With bfloat16 products are faster, all else is not.
_SHARE_OF_PEAK = {"float32": 0.45, "bfloat16": 0.75}
# Starting processes, tokenizing, and writing and measuring files, likewise.
_FIXED_SECONDS = 90.0
_SIZE, _TRIALS = 1024, 5
# A machine is busy if other processes use more than this share of its cores, in percent, for so many seconds.
_BUSY_PERCENT, _WATCHED_SECONDS = 25.0, 0.2


class TimeGuess(NamedTuple):
    """The seconds of a job or a product; both are equal unless the machine is busy."""

    alone: float
    now: float


class EncoderSize(NamedTuple):
    """The sizes of an encoder that its time depends on."""

    layers: int
    hidden_size: int
    intermediate_size: int

    @classmethod
    def of_checkpoint(cls, checkpoint: Checkpoint) -> "EncoderSize | None":
        """The sizes of a checkpoint's encoder; None if its configuration does not name them."""
        sizes = [checkpoint.size(name) for name in ("num_layers", "hidden_size", "intermediate_size")]
        named_sizes = [size for size in sizes if size is not None]
        return cls(*named_sizes) if len(named_sizes) == len(sizes) else None

    def flops(self, tokens: float) -> float:
        """Operations of a forward pass of one row: all kernels of a block, and the products of attention."""
        kernels = 4 * self.hidden_size**2 + 2 * self.hidden_size * self.intermediate_size
        attention = 2 * tokens * self.hidden_size
        return _FORWARD * self.layers * tokens * (kernels + attention)

    def shrink(self, student: Student) -> "EncoderSize":
        """The sizes of a student with this encoder as its teacher."""
        layers = len(student.layers) if student.layers is not None else student.num_layers or self.layers
        width, inner = student.hidden_size or self.hidden_size, student.intermediate_size or self.intermediate_size
        return EncoderSize(layers, width, inner)


class TrainingWork(NamedTuple):
    """A training: the rows that pass through it, epochs included, their mean tokens, and who answers each row."""

    rows: float
    tokens: float
    encoder: EncoderSize
    teacher: EncoderSize | None = None

    def flops(self) -> float:
        """Operations of all forward and backward passes."""
        answers = 0.0 if self.teacher is None else self.teacher.flops(self.tokens)
        return self.rows * (_TRAINING / _FORWARD * self.encoder.flops(self.tokens) + answers)


class RowLengths(NamedTuple):
    """The lengths of training rows as a model reads them."""

    rows: float
    tokens: float

    @classmethod
    def of_tokens(cls, lengths: Sequence[int], rows: int, max_length: int, task: str) -> "RowLengths":
        """The lengths of `rows` rows, of which some have `lengths` tokens; most tasks truncate longer rows."""
        windows = 1.0
        if TASK_ROWS[task].long_rows != "truncated":
            windows = sum(max(1.0, count / max_length) for count in lengths) / len(lengths)
        return cls(rows * windows, sum(min(count, max_length) for count in lengths) / len(lengths))


def list_trainings(settings: Settings) -> list[TrainingWork] | None:
    """The trainings of a job; None if their number of steps is not known before its first steps have run."""
    source, checkpoint = settings.examples, settings.checkpoint
    size = None if checkpoint is None else EncoderSize.of_checkpoint(checkpoint)
    if source is None or checkpoint is None or size is None or isinstance(source, RetrievalSource):
        return None
    if settings.general_distillation is not None or settings.teacher_labels is not None:
        return None
    shared = []
    if settings.corpus is not None:
        pretraining = settings.pretraining
        if pretraining.steps is None:
            return None
        shared.append(TrainingWork(pretraining.steps * pretraining.batch_size, settings.max_length, size))
    task, rows = TASK_ROWS[source.task], source.splits()["train"]
    tokens = measure_tokens(rows, task, checkpoint.tokenizer())
    lengths = RowLengths.of_tokens(tokens.lengths, len(rows), settings.max_length, source.task)
    last = size if settings.student is None else size.shrink(settings.student)
    quantization, tuning, enabled = settings.quantization, settings.fine_tuning, enabled_capabilities(settings)
    # A teacher trains on rows, or on the texts that a capability makes of them.
    counts = (capability.count_texts(table, tuning, lengths.rows) for capability, table in enabled)
    usual = tuning.count_steps(round(lengths.rows)) * tuning.batch_size
    texts = next((count for count in counts if count is not None), usual)
    teacher = TrainingWork(texts, lengths.tokens, size)
    stages = [
        (None if settings.student is None else settings.distillation, last, size),
        (settings.pruning, last, last),
        (None if quantization is None or quantization.post_training else quantization, last, last),
    ]
    smaller = [
        TrainingWork(stage.count_steps(round(lengths.rows)) * stage.batch_size, lengths.tokens, encoder, answers)
        for stage, encoder, answers in stages
        if stage is not None
    ]
    further = sum(capability.count_teachers(table) for capability, table in enabled)
    others = [teacher._replace(rows=further * teacher.rows)] if further else []
    # Where the teachers of all seeds teach one student, there is one of each smaller model.
    teachers, students = (settings.seeds - 1, 1) if settings.distillation.teachers == "seeds" else (0, settings.seeds)
    return [*shared, *[teacher] * teachers, *[teacher, *smaller] * students, *others]


def guess_seconds(settings: Settings) -> TimeGuess | None:
    """The seconds of a job that never ran, on this machine; None if it cannot be known before its first steps."""
    try:
        trainings = [list_trainings(job) or [] for job in split_job(settings).values()]
    except InputError:  # the step that reads the rows reports it
        return None
    # Several tasks read together the rows that each would read alone; but so many steps are those of all.
    stages = (settings.fine_tuning, settings.distillation, settings.pruning, settings.quantization)
    are_epochs = len(trainings) == 1 or not any(stage is not None and stage.steps for stage in stages)
    return estimate_seconds([work for works in trainings for work in works]) if all(trainings) and are_epochs else None


def estimate_seconds(works: Sequence[TrainingWork]) -> TimeGuess:
    """The seconds of a job on this machine's processor; a rough guess."""
    products = sum(work.flops() for work in works) / (2 * _SIZE**3 * _SHARE_OF_PEAK[native_precision()])
    return TimeGuess(*(_FIXED_SECONDS + products * seconds for seconds in time_product()))


def time_product() -> TimeGuess:
    """The time of a float32 matrix product in NumPy; takes a third of a second, or longer on a busy machine.

    The best of a few counts. Its processor time hardly depends on what else runs, nor on the threads that NumPy uses:
    it says how fast all processors that this process may use are together.
    """
    import numpy as np

    is_busy = psutil.cpu_percent(_WATCHED_SECONDS) > _BUSY_PERCENT
    matrix = np.ones((_SIZE, _SIZE), np.float32)
    seconds, core_seconds = [], []
    for _ in range(_TRIALS):
        start, cores_start = time.perf_counter(), time.process_time()
        matrix @ matrix
        seconds.append(time.perf_counter() - start)
        core_seconds.append(time.process_time() - cores_start)
    alone = min(core_seconds) / usable_processors()
    return TimeGuess(alone, max(alone, min(seconds)) if is_busy else alone)
