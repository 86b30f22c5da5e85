"""The capability `entailment`: a model of natural language inference, which knows labels by their names alone."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pydantic

from components.artifacts.evaluation import FurtherModels
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Handle
from components.dsl.errors import InputError
from components.import_checkpoint import import_checkpoint
from components.sources.checkpoint import Checkpoint
from keras_bert.core.folders import TASK_FILE, read_json_file
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.interop.configs import CONFIG_FILE
from pipeline.capability import Capability
from pipeline.nodes import append_name
from pipeline.settings.schema import Settings
from plugins.open_labels.measure_entailment import PLACE, find_entailment, measure_entailment
from plugins.open_labels.scoring import OpenLabelsScoring


class EntailmentCheckpoint(Checkpoint):
    """The model of `[entailment] path`."""

    setting: ClassVar[str] = "entailment"

    def check_labels(self) -> None:
        """Raises InputError if the checkpoint cannot be opened, or has no label of entailment."""
        self.check()
        file = self.model_folder() / (TASK_FILE if self.is_own else CONFIG_FILE)
        content = read_json_file(file)
        find_entailment([*content.get("labels", content.get("id2label", {}).values())])


@validated_dataclass
class Entailment:
    """A model that was trained to tell whether a text entails another one.

    Attributes:
        path: the checkpoint of a classifier of pairs, see `checkpoint.path`.
        hypothesis: the second text, in which `{}` stands for the name of a label with its description.
        rows: maximum number of test rows that are answered, at least 2, as each takes a pass for each label.
    """

    path: NonEmptyStr
    hypothesis: NonEmptyStr = f"This text is about {PLACE}."
    rows: Annotated[int, pydantic.Field(ge=2)] = 200

    @pydantic.field_validator("hypothesis")
    @classmethod
    def _check_place(cls, hypothesis: str) -> str:
        if hypothesis.count(PLACE) != 1:
            raise ValueError(f"hold {PLACE} once, where the name of a label goes")
        return hypothesis


class EntailmentCapability(Capability[Entailment]):
    """A row of the table of models for a model that has seen no row of a label."""

    name = "entailment"
    table = Entailment
    purpose = (
        "a model of natural language inference that answers rows of `open_labels` by the names of labels, as a row of "
        "the table of models."
    )
    paths = ("path",)

    def check_tables(self, table: Entailment, settings: Settings) -> None:
        """Raises InputError for other tasks."""
        assert settings.examples is not None
        if settings.examples.task != OpenLabelsScoring.name:
            raise InputError(
                f"entailment must be left out for the task {settings.examples.task}; it is for 'open_labels'"
            )

    def check_rows(self, table: Entailment, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        """Raises InputError if the checkpoint is no model of natural language inference."""
        EntailmentCheckpoint(table.path).check_labels()

    def add_rows(
        self,
        table: Entailment,
        settings: Settings,
        rows: Handle[TaskExamples],
        teachers: Sequence[Handle[Model]],
        students: Sequence[Handle[Model]],
        edges: Sequence[Handle[EdgeModel]],
    ) -> list[Handle[FurtherModels]]:
        """The row of the model."""
        node = append_name(import_checkpoint(source=EntailmentCheckpoint(table.path)), "entailment")
        node = measure_entailment(
            inference=node.output(Model), examples=rows, hypothesis=table.hypothesis, rows=table.rows
        )
        return [node.output(FurtherModels)]
