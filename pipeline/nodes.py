"""Nodes of a pipeline: their names, the seeds of their trainings, and those that fine-tuning starts from."""

import dataclasses
from typing import NamedTuple, TypeVar

from components.artifacts.standard import Corpus, LabelledRows, Model, TaskExamples, Vocabulary
from components.dsl.component import Handle, Node
from keras_bert.options.training import Training
from pipeline.settings.schema import Settings

T = TypeVar("T", bound=Training)


class Taught(NamedTuple):
    """What students of a job learn from in place of a fine-tuned teacher and the examples.

    Attributes:
        start: the model of the task whose layers students start from.
        rows: the rows that students, pruned and quantized models learn from.
        teacher: the model that answered the rows; None where it is not there.
    """

    start: Handle[Model]
    rows: Handle[TaskExamples]
    teacher: Handle[Model] | None


class TuningInputs(NamedTuple):
    """The inputs of fine-tuning.

    Attributes:
        corpus: the text that the model was pre-trained on; None for an imported checkpoint.
        student: a student of the model, distilled on general text before there is a task; None where students begin
            with the task.
        rows: the examples as they were read; None before there is a task.
        taught: what a capability lets students learn from; None for a fine-tuned teacher and the examples.
    """

    model: Handle[Model]
    vocabulary: Handle[Vocabulary]
    corpus: Handle[Corpus] | None = None
    student: Handle[Model] | None = None
    rows: Handle[LabelledRows] | None = None
    taught: Taught | None = None


def seeded(settings: T, seed: int) -> T:
    """The settings of a training for the seed of this number, counted from 0."""
    return dataclasses.replace(settings, seed=settings.seed + seed)


def append_seed(settings: Settings, seed: int, node: Node) -> Node:
    """Appends the number of the seed to a node's name if the job has several seeds."""
    return append_name(node, str(seed)) if settings.seeds > 1 else node


def append_name(node: Node, *names: str) -> Node:
    """Appends names, joined by hyphens, to a node's name; empty ones are skipped."""
    node.name = "-".join([node.name, *filter(None, names)])
    return node
