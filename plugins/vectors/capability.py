"""The capability `teacher`: students of embeddings and retrievals learn a teacher's vectors of texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.artifacts.evaluation import FurtherModels
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Handle
from components.dsl.errors import InputError
from components.examples.overlap import resolve_leaks
from components.examples.registry import TASK_ROWS
from components.import_checkpoint import import_checkpoint
from components.scoring.blessing import STUDENT, TEACHER
from components.training.tuning import HeadSettings
from keras_bert.options.tables import FineTuningSettings
from pipeline.capability import Capability
from pipeline.nodes import Taught, TuningInputs, append_name
from pipeline.settings.schema import Settings
from plugins.vectors.measure_pairs import measure_pairs
from plugins.vectors.settings import VectorTeacher
from plugins.vectors.sizes import check_shapes_of_sizes, check_sizes, check_training, export_sizes
from plugins.vectors.source import TeacherCheckpoint, vector_width
from plugins.vectors.steps import TaughtVectors, adopt_model, embed_texts, hold_out

# Tables of trainings on labels, which a student that learns vectors alone does not have.
_OF_LABELS = (
    *("fine_tuning", "adaptation", "contrast", "hard_negatives", "reranker", "unlabelled", "teacher_labels"),
    "general_distillation",
)


class TeacherCapability(Capability[VectorTeacher]):
    """A student learns the vectors of a model that is not trained, or those of another program."""

    name = "teacher"
    table = VectorTeacher
    purpose = (
        "a model whose vectors of texts the student of an embedding or a retrieval learns, without labels, an earlier "
        "version that was pushed, or a file of such vectors. Pruning and quantization then keep the vectors of the "
        "float model on the same texts. `distillation` has the settings of the training."
    )
    paths = ("path", "texts", "vector_file", "space")

    def check_tables(self, table: VectorTeacher, settings: Settings) -> None:
        """Raises InputError if the task makes no vectors, or another table would be read by no step."""
        source = settings.examples
        assert source is not None
        if not TASK_ROWS[source.task].has_vectors:
            raise InputError(f"teacher is only allowed for embedding and retrieval, got it for {source.task}")
        if table.document_sentences and source.task != "retrieval":
            raise InputError(f"teacher.document_sentences is only allowed for retrieval, got it for {source.task}")
        if settings.student is None:
            raise InputError("teacher must be left out without [student], as no step would read it")
        for name in _OF_LABELS:
            if name in settings.model_fields_set and getattr(settings, name) is not None:
                raise InputError(
                    f"{name} must be left out with [teacher], whose vectors are all that the student learns; train "
                    "the student on labels in a second job, as its [checkpoint]"
                )
        for name in ("distillation", "pruning", "quantization"):
            check_training(name, getattr(settings, name))
        check_sizes(table.sizes, settings)
        if settings.checkpoint is None:
            rule = "be set with [teacher]: the model of vectors whose layers the student starts from"
            raise InputError(f"checkpoint must {rule}")

    def check_rows(self, table: VectorTeacher, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        """Reads all texts and vectors; raises InputError if some cannot be used."""
        check_shapes_of_sizes(table.sizes, settings)
        if table.path:
            TeacherCheckpoint(table.path).check()
        if table.release is not None:
            table.release.check()
        if table.texts:
            texts, source = table.source().read().texts, settings.examples
            hold_out(texts)
            assert source is not None
            overlap, near_overlap = source.overlap, source.near_overlap
            if "error" in (overlap, near_overlap):
                task = TASK_ROWS[source.task]
                resolve_leaks(texts, splits, task, overlap=overlap, near_overlap=near_overlap)

    def vector_width(self, table: VectorTeacher, settings: Settings, width: int | None) -> int | None:
        """The width of the teacher's vectors, which those of the student have as well; read only where it is used."""
        if settings.export.dimension is None and settings.page is None:
            return width
        if table.release is not None:
            return table.release.width()
        if table.has_vectors:
            vectors = table.source().read().vectors
            assert vectors is not None
            return vectors.shape[1]
        teacher = TeacherCheckpoint(table.path) if table.path else settings.checkpoint
        assert teacher is not None
        return vector_width(teacher)

    def count_texts(self, table: VectorTeacher, tuning: FineTuningSettings, rows: float) -> int:
        """0, as the teacher is not trained."""
        return 0

    def why_untrained(self, table: VectorTeacher) -> str:
        """Says that the teacher is not trained."""
        return " with [teacher], whose model is not trained"

    def wire_start(
        self, table: VectorTeacher, settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], task: str
    ) -> TuningInputs:
        """The start with the teacher's vectors of the texts."""
        head, teacher = HeadSettings(settings.pooling, settings.contrast, settings.normalize), None
        if table.path:
            imported = append_name(import_checkpoint(source=TeacherCheckpoint(table.path)), "teacher", task)
            node = adopt_model(pretrained=imported.output(Model), examples=rows)
            teacher = append_name(node, "teacher", task).output(Model)
        elif not (table.has_vectors or table.space):
            is_fitted = settings.fitted_vocabulary is not None
            # The vocabulary of the student is reduced, and not that of its teacher.
            whole = start.model.node.inputs["pretrained"] if is_fitted else start.model
            node = adopt_model(pretrained=whole, examples=rows, new_head=head)
            teacher = append_name(node, "teacher", task).output(Model)
        node = adopt_model(
            pretrained=start.model,
            examples=rows,
            new_head=head,
            keeps_prompts=False,
            teacher=teacher,
            release=table.release,
        )
        first = append_name(node, "start", task).output(Model)
        source = table.source() if table.texts else None
        node = embed_texts(
            vocabulary=start.vocabulary,
            examples=rows,
            source=source,
            teacher=teacher,
            release=table.release,
            sentences=table.sentences,
            with_rows=table.rows and bool(table.texts),
            overlap=getattr(settings.examples, "overlap", "keep"),
            near_overlap=getattr(settings.examples, "near_overlap", "keep"),
        )
        taught = append_name(node, task).output(TaughtVectors)
        return start._replace(taught=Taught(first, taught, teacher))

    def add_rows(
        self,
        table: VectorTeacher,
        settings: Settings,
        rows: Handle[TaskExamples],
        teachers: Sequence[Handle[Model]],
        students: Sequence[Handle[Model]],
        edges: Sequence[Handle[EdgeModel]],
    ) -> list[Handle[FurtherModels]]:
        """The students' queries on the documents of the teacher; none where another program made its vectors."""
        if not students or not (teachers or table.space):
            return []
        # All seeds have the same teacher.
        node = measure_pairs(
            examples=rows,
            teacher=teachers[0] if teachers else None,
            release=table.release,
            students=[*students],
            edges=[*edges],
            sizes=export_sizes(table.sizes, settings, rows, students),
            names=tuple(size.name for size in table.sizes),
            metric=settings.evaluation.metric,
            document_sentences=table.document_sentences,
            limits={STUDENT: {TEACHER: table.least_share}, **{size.name: size.min_shares for size in table.sizes}},
        )
        return [node.output(FurtherModels)]
