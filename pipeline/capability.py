"""An optional capability of a job, which a plug-in has: what the rest of the pipeline asks of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from components.artifacts.evaluation import FurtherModels
from components.artifacts.standard import EdgeModel, LabelledRows, Model, TaskExamples
from components.dsl.artifact import Artifact
from components.dsl.component import Handle, Node
from components.examples.row_traits import RowTraits
from components.examples.source_rows import AnySource
from components.sources.checkpoint import Checkpoint
from keras_bert.options.tables import FineTuningSettings
from pipeline.nodes import TuningInputs
from pipeline.proposal import Proposal, Setting
from pipeline.settings.schema import Settings

T = TypeVar("T")
# Fine-tunes a teacher of the first seed on other rows; the name ends the names of its nodes.
FineTune = Callable[[Handle[TaskExamples], str], Handle[Model]]
# A function of plain values that makes figures as SVG, and the values -> the figures as parts of the page.
Draw = Callable[..., list[Any]]


class Capability(Generic[T]):
    """A capability that a table of its name switches on.

    A capability overrides the methods that it needs.

    Attributes:
        name: of the table in the job file, and of the entry point.
        table: the record of the table.
        purpose: what the table is, for the reference of settings.
        outputs: the artifacts that a run tells of when it ends, and that its page shows by `report.html` in the
            folder of the capability's module.
        title: of the section of the page.
        paths: keys of the table that are paths of files, or patterns of such; in a job file they start from its folder.
        keeps_columns: whether its steps read all columns of the training table, see `KeptColumns`.
        unlisted_files: files of artifacts whose values are of no use to a reader.
    """

    name: ClassVar[str]
    table: ClassVar[type]
    purpose: ClassVar[str]
    outputs: ClassVar[tuple[type[Artifact], ...]] = ()
    title: ClassVar[str] = ""
    paths: ClassVar[tuple[str, ...]] = ()
    keeps_columns: ClassVar[bool] = False
    unlisted_files: ClassVar[tuple[str, ...]] = ()

    def check_tables(self, table: T, settings: Settings) -> None:
        """Raises InputError where the other tables of a job, which has `[examples]`, do not go with the table."""

    def split_job(self, table: T, settings: Settings) -> Mapping[str, Settings]:
        """The jobs of one task that a job of several is made of, by the names of the tasks; none for other jobs.

        Raises InputError where the other tables of the job do not go with the table.
        """
        return {}

    def wire_job(self, table: T, jobs: Mapping[str, Settings], settings: Settings, root: Path) -> Sequence[Node]:
        """The last steps of a job that `split_job` splits into `jobs`."""
        raise NotImplementedError

    def check_rows(self, table: T, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        """Raises InputError where the rows of the examples, or files that the settings name, do not suit the table."""

    def vector_width(self, table: T, settings: Settings, width: int | None) -> int | None:
        """The width of the vectors of a job whose tables of models say `width`; None if it is unknown."""
        return width

    def count_texts(self, table: T, tuning: FineTuningSettings, rows: float) -> int | None:
        """The number of texts that pass through the training of a teacher on so many rows; None for the usual one."""
        return None

    def why_untrained(self, table: T) -> str:
        """Why no settings of a training make the teacher, as the end of an error; empty if they do."""
        return ""

    def propose(self, source: AnySource, rows: RowTraits, rate: Setting) -> Proposal | None:
        """The tables that `init` proposes for rows in place of the usual ones, with this learning rate, if any."""
        return None

    def draft(self, options: Any, checkpoint: Checkpoint) -> Any:
        """The `DraftedJob` for arguments of `init` that name the rows of several tasks; None for other arguments."""

    def count_teachers(self, table: T) -> int:
        """The number of further teachers that train, each counted as one that learns from all rows."""
        return 0

    def wire_start(
        self, table: T, settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], task: str
    ) -> TuningInputs:
        """The start of all seeds; further nodes get the name of the `task`. See `pipeline.nodes.Taught`."""
        return start

    def wire_teacher(
        self, table: T, settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], seed: int, label: str
    ) -> Node | None:
        """The step that makes the teacher of a seed in place of `fine_tune`; see `pipeline.chains.wire_fine_tuning`."""
        return None

    def add_rows(
        self,
        table: T,
        settings: Settings,
        rows: Handle[TaskExamples],
        teachers: Sequence[Handle[Model]],
        students: Sequence[Handle[Model]],
        edges: Sequence[Handle[EdgeModel]],
    ) -> list[Handle[FurtherModels]]:
        """Further rows of the table of models, see `components.evaluate`; models and files are those of each seed."""
        return []

    def wire(
        self,
        table: T,
        settings: Settings,
        rows: Handle[LabelledRows],
        examples: Handle[TaskExamples],
        fine_tune: FineTune,
    ) -> list[Node]:
        """The last of the further steps that a job with the table has; `rows` become `examples` in tokens."""
        return []

    def summarize(self, output: Any) -> str:
        """A line for the terminal about one of the `outputs`."""
        raise NotImplementedError

    def read(self, output: Any, draw: Draw) -> Any:
        """The content of `report.html` for one of the `outputs`.

        Raises:
            OSError, ValueError, KeyError, TypeError, StopIteration: files are missing or corrupted.
        """
        raise NotImplementedError
