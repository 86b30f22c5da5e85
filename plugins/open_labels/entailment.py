"""The capability `entailment`: a model of natural language inference in the table, which knows labels by name alone."""

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pydantic

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Handle, Input, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.import_checkpoint import import_checkpoint
from components.sources.checkpoint import Checkpoint
from components.training.model_folder import read_model
from keras_bert.core.folders import TASK_FILE, read_json_file
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.interop.configs import CONFIG_FILE
from pipeline.capability import Capability
from pipeline.nodes import append_name
from pipeline.settings.schema import Settings
from plugins.open_labels.label_table import name_text
from plugins.open_labels.rows import descriptions_of, examples_of
from plugins.open_labels.scoring import COUNTS, OpenAnswer, OpenLabelsScoring

ROW = "natural language inference"
_ENTAILED = "entail"
_PLACE = "{}"


class EntailmentCheckpoint(Checkpoint):
    """The model of `[entailment] path`."""

    setting: ClassVar[str] = "entailment"

    def check_labels(self) -> None:
        """Raises InputError if the checkpoint cannot be opened, or has no label of entailment."""
        self.check()
        file = self.model_folder() / (TASK_FILE if self.is_own else CONFIG_FILE)
        content = read_json_file(file)
        find_entailment([*content.get("labels", content.get("id2label", {}).values())])


def find_entailment(labels: Sequence[str]) -> int:
    """The place of the label of entailment; raises InputError if there is none."""
    places = [place for place, label in enumerate(labels) if str(label).lower().startswith(_ENTAILED)]
    if len(places) != 1:
        raise InputError(
            "entailment.path must be a classifier of pairs with one label that begins with 'entail', such as one that "
            f"learnt MNLI, got the labels {list(labels)}"
        )
    return places[0]


@validated_dataclass
class Entailment:
    """A model that was trained to tell whether a text entails another one.

    Attributes:
        path: the checkpoint of a classifier of pairs, see `checkpoint.path`.
        hypothesis: the second text, in which `{}` stands for the name of a label with its description.
        rows: maximum number of test rows that are answered, at least 2, as each takes a pass for each label.
    """

    path: NonEmptyStr
    hypothesis: NonEmptyStr = f"This text is about {_PLACE}."
    rows: Annotated[int, pydantic.Field(ge=2)] = 200

    @pydantic.field_validator("hypothesis")
    @classmethod
    def _check_place(cls, hypothesis: str) -> str:
        if hypothesis.count(_PLACE) != 1:
            raise ValueError(f"hold {_PLACE} once, where the name of a label goes")
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


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), kind="measurement")
def measure_entailment(
    inference: Input[Model],
    examples: Input[TaskExamples],
    further: Output[FurtherModels],
    hypothesis: str,
    rows: int,
) -> None:
    """Scores the label whose hypothesis a text entails most (Yin et al. 2019, arXiv 1909.00161), on some test rows.

    Raises:
        InputError: the model is no classifier with a label of entailment.
    """
    import numpy as np

    task, description = read_model(inference), examples.features()
    entailed = find_entailment(task.labels)
    tested = read_rows(examples, "test")
    descriptions = descriptions_of([*read_rows(examples, "train"), *tested])
    trained = description["settings"]["labels"]
    labels = [*trained, *examples_of(tested)]
    order = random.Random(0).sample(range(len(tested)), len(tested))
    # A row of a trained and one of an added label define all metrics.
    first = {bool(tested[place].examples): place for place in reversed(order)}
    chosen = [tested[place] for place in dict.fromkeys([*first.values(), *order])][:rows]
    report_progress(0, len(labels))
    scores = np.zeros((len(chosen), len(labels)))
    texts = [row.text for row in chosen]
    for place, label in enumerate(labels):
        second = hypothesis.replace(_PLACE, name_text(label, descriptions.get(label, "")))
        logits = np.stack(list(task.outputs(texts, [second] * len(texts))))
        scores[:, place] = logits[:, entailed] - np.logaddexp.reduce(np.delete(logits, entailed, axis=1), axis=1)
        report_progress(place + 1, len(labels))
    among_trained = scores[:, : len(trained)]
    answers = [
        OpenAnswer(trained[before], float(score), (labels[best],) * len(COUNTS))
        for before, score, best in zip(
            among_trained.argmax(axis=1), among_trained.max(axis=1), scores.argmax(axis=1), strict=True
        )
    ]
    metrics = OpenLabelsScoring().score(chosen, answers, trained).metrics
    name = ROW if len(chosen) == len(tested) else f"{ROW}, {len(chosen)} rows"
    further.write(FurtherRows({name: MeasuredModel(SeedScores.table([metrics]))}))
