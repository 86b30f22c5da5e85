"""The steps of one seed: a teacher, and what is made of it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from components.answer_rows import answer_rows
from components.distill import distill
from components.distill_start import distill_start
from components.dsl.component import Handle, Node
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.ingest_texts import ingest_texts
from components.prune import prune
from components.quantize import quantize
from components.sources.text import TextSource
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation, StateImitation
from keras_bert.options.pruning import Pruning
from keras_bert.options.quantization import Quantization
from keras_bert.options.selection import Selection
from keras_bert.options.training import Training
from keras_bert.options.transfer import Transfer
from pipeline.settings.schema import DistillationSettings, PretrainingSettings, Settings, part

# A way to make a model smaller, called as its table in the settings; in the order in which they follow each other.
Part = Literal["student", "pruning", "quantization"]
PARTS: tuple[Part, ...] = ("student", "pruning", "quantization")


class Start(NamedTuple):
    """What fine-tuning begins with.

    Attributes:
        model: pre-trained.
        vocabulary: that rows are tokenized with.
        corpus: the text behind both, where there is some.
        student: of the model, made of text before there is a task; None where students begin with the task.
    """

    model: Handle
    vocabulary: Handle
    corpus: Handle | None = None
    student: Handle | None = None


class Chain:
    """The nodes of one seed; each is made once, however many stand on it.

    Args:
        settings: of the job.
        start: what the teacher begins with.
        rows: of the examples.
        seed: its number, from 0.
        told: whether nodes are named after the parts below them, as one chain has several of a kind.
        label: what nodes are named after, as one pipeline has several chains of a seed.
        teacher: made already; None for one of the settings.
    """

    def __init__(
        self,
        settings: Settings,
        start: Start,
        rows: Handle,
        seed: int,
        *,
        told: bool = False,
        label: str = "",
        teacher: Handle | None = None,
    ) -> None:
        self._settings, self._start, self._rows, self._seed, self._told = settings, start, rows, seed, told
        self._label, self._made = label, dict[tuple[Part, ...], Handle]()
        if teacher is not None:
            self._made[()] = teacher

    @property
    def corpus(self) -> Handle | None:
        """The text behind all, where there is some."""
        return self._start.corpus

    def model(self, parts: Sequence[Part] = ()) -> Handle:
        """The model that some parts make of the teacher, one after the other; the teacher without any."""
        key = tuple(parts)
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def edge(self, parts: Sequence[Part]) -> Handle:
        """The exported files of such a model."""
        node = export_model(model=self.model(parts), examples=self._rows, export=self._settings.export)
        return self._named(node, parts).edge

    def answered(self) -> Handle:
        """The rows that a student learns from: the labelled ones, or more of them with the teacher's answers."""
        own = self._settings
        if own.transfer is None and own.unlabelled is None:
            return self._rows
        node = answer_rows(
            teacher=self.model(),
            pretrained=self._start.model,
            examples=self._rows,
            transfer=own.transfer or Transfer(),
            unlabelled=own.unlabelled,
        )
        return self._named(node, ()).answered

    def _make(self, parts: tuple[Part, ...]) -> Handle:
        if not parts:
            return self._named(fine_tuned(self._settings, self._start, self._rows, self._seed), ()).model
        *below, last = parts
        before, own = self.model(below), self._settings
        if last == "student":
            node = distill(
                teacher=before,
                examples=self.answered(),
                shape=own.student,
                begun=self._start.student,
                distillation=part(own.distillation, Distillation),
                imitation=part(own.distillation, Imitation),
                training=seeded(own.distillation, self._seed),
            )
            return self._named(node, below).student
        if last == "pruning":
            assert own.pruning is not None
            node = prune(
                student=before,
                examples=self._rows,
                pruning=part(own.pruning, Pruning),
                distillation=part(own.pruning, Distillation),
                training=seeded(own.pruning, self._seed),
            )
            return self._named(node, below).pruned
        quantization = own.quantization
        assert quantization is not None
        node = quantize(
            student=before,
            examples=self._rows,
            quantization=part(quantization, Quantization),
            distillation=part(quantization, Distillation),
            training=None if quantization.post_training else seeded(quantization, self._seed),
        )
        return self._named(node, below).quantized

    def _named(self, node: Node, below: Sequence[Part]) -> Node:
        named_after(node, *(below if self._told else ()), self._label)
        return of_seed(self._settings, self._seed, node)


def fine_tuned(settings: Settings, start: Start, rows: Handle, seed: int) -> Node:
    """The step that makes a teacher."""
    own = settings.fine_tuning
    node: Node = fine_tune(
        pretrained=start.model,
        examples=rows,
        pooling=settings.pooling,
        class_weights=own.class_weights,
        adaptation=settings.adaptation,
        training=seeded(own, seed),
        selection=part(own, Selection),
    )
    return node


def with_student(settings: Settings, start: Start, task: str = "") -> Start:
    """The start, with a student of it where the settings say so: one for all seeds, as it knows nothing of the task.

    Args:
        settings: of the job.
        start: what the teacher begins with.
        task: what the nodes are named after, where there are several.
    """
    own = settings.general_distillation
    if own is None:
        return start
    ingested = ingest_texts(vocabulary=start.vocabulary, source=part(own, TextSource), max_length=settings.max_length)
    node = distill_start(
        start=start.model,
        texts=named_after(ingested, task).texts,
        shape=settings.student,
        imitation=part(own, StateImitation),
        training=seeded(own, 0),
    )
    return start._replace(student=named_after(node, task).student)


def seeded(settings: Training | DistillationSettings | PretrainingSettings, seed: int) -> Training:
    """How a step trains with the seed of this number, counted from 0."""
    fields = vars(part(settings, Training))
    return Training(**{**fields, "seed": settings.seed + seed})


def of_seed(settings: Settings, seed: int, node: Node) -> Node:
    """The node, named after its seed where there are several."""
    return named_after(node, str(seed)) if settings.seeds > 1 else node


def named_after(node: Node, *names: str) -> Node:
    """The node, named after what tells it from others of its kind."""
    node.name = "-".join([node.name, *filter(None, names)])
    return node


def asked_parts(settings: Settings) -> tuple[Part, ...]:
    """The parts that the settings have a table of."""
    return tuple(name for name in PARTS if getattr(settings, name) is not None)
