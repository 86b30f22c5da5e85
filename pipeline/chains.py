"""The steps of one seed: a teacher, and the smaller models that are made of it."""

from collections.abc import Sequence
from typing import Literal

from components.artifacts.standard import Corpus, EdgeModel, LabelledRows, Model, TaskExamples, TextExamples
from components.distill import distill
from components.distill_general import distill_general
from components.dsl.component import Handle, Node
from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.ingest_texts import ingest_texts
from components.label_with_teacher import label_with_teacher
from components.prune import prune
from components.quantize import quantize
from components.sources.text import TextSource
from components.training.tuning import HeadSettings
from keras_bert.options.compression import Distillation, StateImitation, TeacherLabels
from keras_bert.options.training import Training
from pipeline.capabilities import enabled_capabilities
from pipeline.nodes import TuningInputs, append_name, append_seed, seeded
from pipeline.settings.schema import Settings, select_fields

# A way to make a model smaller, named as its table in the settings; in the order in which stages follow each other.
Stage = Literal["student", "pruning", "quantization"]
STAGES: tuple[Stage, ...] = ("student", "pruning", "quantization")


class Chain:
    """The nodes of one seed; each is made once, however many other nodes read it.

    A chain with several models has names by stage; several chains of a seed in one pipeline need labels. A teacher that
    is given is not fine-tuned. Further teachers label the student's rows together with that of the seed.
    """

    def __init__(
        self,
        settings: Settings,
        start: TuningInputs,
        rows: Handle[TaskExamples],
        seed: int,
        *,
        name_by_stage: bool = False,
        label: str = "",
        teacher: Handle[Model] | None = None,
        further_teachers: Sequence[Handle[Model]] = (),
    ) -> None:
        self._further_teachers = further_teachers
        self._settings, self._start, self._rows, self._seed = settings, start, rows, seed
        self._name_by_stage, self._label = name_by_stage, label
        self._taught = start.taught
        teacher = self._taught.teacher if self._taught is not None else teacher
        self._models: dict[tuple[Stage, ...], Handle[Model]] = {} if teacher is None else {(): teacher}

    @property
    def corpus(self) -> Handle[Corpus] | None:
        """The text that the teacher was pre-trained on; None for an imported checkpoint."""
        return self._start.corpus

    @property
    def read_rows(self) -> Handle[LabelledRows] | None:
        """The examples as they were read."""
        return self._start.rows

    @property
    def checkpoint(self) -> Handle[Model] | None:
        """The model before fine-tuning, if it can answer: a checkpoint of vectors, or any start with a fitted head."""
        settings = self._settings
        if settings.examples is not None and TASK_ROWS[settings.examples.task].encodes_separately:
            return self._start.model if settings.corpus is None else None
        return None if learns_from_column(settings) else self._start.model

    def teachers(self) -> list[Handle[Model]]:
        """The teacher of the seed, and the further ones; none where students learn from answers without a model."""
        if self._taught is not None and self._taught.teacher is None:
            return []
        return [self.model(), *self._further_teachers]

    def model(self, stages: Sequence[Stage] = ()) -> Handle[Model]:
        """The model that stages make of the teacher, one after the other; the teacher for no stages."""
        key = tuple(stages)
        if key not in self._models:
            self._models[key] = self._add_name(self._wire_model(key), key[:-1]).output(Model)
        return self._models[key]

    def edge(self, stages: Sequence[Stage]) -> Handle[EdgeModel]:
        """The exported files of the model that stages make."""
        node = export_model(model=self.model(stages), examples=self._rows, export=self._settings.export)
        return self._add_name(node, stages).output(EdgeModel)

    def student_rows(self) -> Handle[TaskExamples]:
        """The rows that a student learns from: the labelled rows, and optionally rows that the teacher labels."""
        settings, unlabelled = self._settings, self._settings.unlabelled
        if self._taught is not None:
            return self._taught.rows
        if not labels_rows(settings):
            return self._rows
        assert settings.examples is not None
        node = label_with_teacher(
            teachers=self.teachers(),
            pretrained=self._start.model,
            examples=self._rows,
            teacher_labels=settings.teacher_labels or TeacherLabels(),
            unlabelled=None
            if unlabelled is None or unlabelled.has_teacher_answers
            else select_fields(unlabelled, TextSource),
            overlap=settings.examples.overlap,
            near_overlap=settings.examples.near_overlap,
        )
        return self._add_name(node, ()).output(TaskExamples)

    def _wire_model(self, stages: tuple[Stage, ...]) -> Node:
        """The node of the last stage, or of the teacher's fine-tuning for no stages."""
        if not stages:
            if self._taught is not None:
                raise InputError(
                    "a job whose students learn the vectors of another program has no teacher's model, which was asked "
                    "for; name a model whose vectors they learn instead"
                )
            return wire_fine_tuning(self._settings, self._start, self._rows, self._seed, self._label)
        *below, last = stages
        settings = self._settings
        if last == "student" and self._taught is not None:
            return distill(
                teacher=self._taught.start,
                examples=self._taught.rows,
                shape=settings.student,
                distillation=seeded(settings.distillation, self._seed),
            )
        if last == "student":
            has_teacher_answers = learns_from_column(settings)
            return distill(
                teacher=self._start.model if has_teacher_answers else self.model(below),
                new_head=_head_of(settings) if has_teacher_answers else None,
                examples=self.student_rows(),
                shape=settings.student,
                general_student=self._start.student,
                distillation=seeded(settings.distillation, self._seed),
            )
        model, rows = self.model(below), self._rows if self._taught is None else self._taught.rows
        if last == "pruning":
            assert settings.pruning is not None
            return prune(student=model, examples=rows, pruning=seeded(settings.pruning, self._seed))
        assert settings.quantization is not None
        return quantize(student=model, examples=rows, quantization=seeded(settings.quantization, self._seed))

    def _add_name(self, node: Node, below: Sequence[Stage]) -> Node:
        append_name(node, *(below if self._name_by_stage else ()), self._label)
        return append_seed(self._settings, self._seed, node)


def wire_chains(
    settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], *, name_by_stage: bool = False
) -> list[Chain]:
    """The chain of each seed; a single one where the teachers of all seeds teach one student."""
    chains = [Chain(settings, start, rows, seed, name_by_stage=name_by_stage) for seed in range(settings.seeds)]
    if settings.distillation.teachers == "own":
        return chains
    further = [chain.model() for chain in chains[1:]]
    return [Chain(settings, start, rows, 0, name_by_stage=name_by_stage, further_teachers=further)]


def wire_fine_tuning(
    settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], seed: int, label: str = ""
) -> Node:
    """The step that makes the teacher of a seed.

    A capability may fine-tune in another way.
    """
    for capability, own_table in enabled_capabilities(settings):
        node = capability.wire_teacher(own_table, settings, start, rows, seed, label)
        if node is not None:
            return node
    return fine_tune(
        pretrained=start.model,
        examples=rows,
        new_head=_head_of(settings),
        fine_tuning=seeded(settings.fine_tuning, seed),
        adaptation=settings.adaptation,
        distillation=select_fields(settings.distillation, Distillation) if settings.has_teacher_answers() else None,
    )


def _head_of(settings: Settings) -> HeadSettings:
    return HeadSettings(settings.pooling, settings.contrast, settings.normalize)


def labels_rows(settings: Settings) -> bool:
    """Whether teachers label rows before a student learns from them."""
    further = settings.unlabelled is not None and not settings.unlabelled.has_teacher_answers
    return settings.teacher_labels is not None or further or settings.distillation.teachers == "seeds"


def learns_from_column(settings: Settings) -> bool:
    """Whether a student learns only from answers in the user's data, so that it needs no fine-tuned teacher."""
    needs_teacher = labels_rows(settings) or settings.distillation.is_on or "fine_tuning" in settings.model_fields_set
    return settings.student is not None and settings.has_teacher_answers() and not needs_teacher


def with_student(settings: Settings, start: TuningInputs, task: str = "") -> TuningInputs:
    """The start with a student that is distilled on general text, if the settings ask for one.

    All seeds share the student, as it depends on nothing of the task.
    """
    table = settings.general_distillation
    if table is None:
        return start
    ingested = ingest_texts(
        vocabulary=start.vocabulary, source=select_fields(table, TextSource), max_length=settings.max_length
    )
    node = distill_general(
        start=start.model,
        texts=append_name(ingested, task).output(TextExamples),
        shape=settings.student,
        imitation=select_fields(table, StateImitation),
        training=select_fields(table, Training),
    )
    return start._replace(student=append_name(node, task).output(Model))


def enabled_stages(settings: Settings) -> tuple[Stage, ...]:
    """The stages that the settings have a table of."""
    return tuple(name for name in STAGES if getattr(settings, name) is not None)
