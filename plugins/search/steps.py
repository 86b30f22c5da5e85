"""The wiring of a search: models with their scores on validation rows. Trials share all steps that are equal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.artifact import Artifact
from components.dsl.component import Handle, Node
from pipeline.capabilities import is_joint, split_job
from pipeline.chains import STAGES, Chain, Stage
from pipeline.nodes import append_name, seeded
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.pipelines import build_pipeline, pipeline_of, wire_start
from pipeline.settings.schema import Settings
from plugins.search.artifacts import Validation
from plugins.search.validate import validate


def search_pipeline(settings: Settings, handles: Sequence[Handle[Artifact]]) -> Pipeline:
    """The pipeline that makes some outputs of a search."""
    return pipeline_of(f"{settings.name}/search", handles)


def start_pipeline(settings: Settings) -> Pipeline:
    """The steps that all trials share: the rows, and the models that trainings start from."""
    if is_joint(settings):
        return search_pipeline(settings, joint_chains(settings)[0].start)
    start, rows = wire_start(settings)
    return search_pipeline(settings, [start.model, rows, *([] if start.student is None else [start.student])])


class JointChain:
    """The models of one seed of a job of several tasks, in the steps of the job that lead to its exported files.

    A capability wires such steps. The first `Model` input of each step is the model that it changes.
    """

    def __init__(self, edge: Handle[EdgeModel]) -> None:
        self.edge, export = edge, edge.node
        self.rows = inputs_of(export, TaskExamples)
        self._models = inputs_of(export, Model)
        while (start := inputs_of(self._models[0].node, Model)[0]).node.component.kind == "training":
            self._models.insert(0, start)
        self.start = [start, *self.rows]

    def model(self, stages: Sequence[Stage] = ()) -> Handle[Model]:
        """The model that the first stages of the job make of the teacher."""
        return self._models[len(stages)]

    @property
    def teachers(self) -> list[Handle[Artifact]]:
        """What the step after the teacher reads: the teacher, or also those of single tasks, and the rows."""
        following = self._models[1] if len(self._models) > 1 else self.edge
        return list(sources_of(following.node))


def joint_chains(settings: Settings) -> list[JointChain]:
    """The models of each seed of a job of several tasks."""
    # No step of a search is a push, which alone knows the root.
    push = build_pipeline(settings, Path()).nodes[-1]
    return [JointChain(edge) for edge in inputs_of(push, EdgeModel)]


def inputs_of(node: Node, kind: type[Artifact]) -> list[Handle[Any]]:
    """The outputs of other nodes of a type that a node reads."""
    return [handle for handle in sources_of(node) if handle.artifact is kind]


def wire_score(
    settings: Settings,
    rows: Sequence[Handle[TaskExamples]],
    name: str,
    *,
    model: Handle[Model] | None = None,
    edge: Handle[EdgeModel] | None = None,
) -> Handle[Validation]:
    """The score of a model, or of exported files, on the validation rows of all tasks in the metrics of the job."""
    jobs = split_job(settings)
    metrics = tuple(job.evaluation.metric for job in jobs.values())
    node = validate(examples=[*rows], model=model, edge=edge, names=tuple(jobs), metrics=metrics)
    return append_name(node, name).output(Validation)


class TrialOutputs(NamedTuple):
    """A trained model of one seed, its score, and the score of the model that later stages make of it.

    `teachers` are what a student reads; `single_steps` make those of one task each.
    """

    training: Handle[Model]
    model: Handle[Model]
    validation: Handle[Validation]
    last_validation: Handle[Validation]
    steps: frozenset[str]
    later_steps: frozenset[str]
    teachers: list[Handle[Any]]
    single_steps: frozenset[str]


def wire_trial(settings: Settings, seed: int, stages: Sequence[Stage], later: Sequence[Stage] = ()) -> TrialOutputs:
    """The training of one seed, as a run of the job has it."""
    # Names of steps need no numbers, as a pipeline has one seed.
    settings = settings.model_copy(update={"seeds": 1})
    chain: Chain | JointChain
    teachers: list[Handle[Any]] = []
    if is_joint(settings):
        trainings = {name: getattr(settings, name) for name in ("fine_tuning", "distillation", *STAGES[1:])}
        changes = {name: seeded(training, seed) for name, training in trainings.items() if training is not None}
        chain = joint_chains(settings.model_copy(update=changes))[0]
        begin = chain.start
        rows = chain.rows
        if stages:
            teachers = chain.teachers
    else:
        start, examples = wire_start(settings)
        chain = Chain(settings, start, examples, seed)
        begin = [start.model, examples]
        rows = [examples]
        if stages:
            teachers = [chain.model()]
    training = model = chain.model(stages)
    encoder = model.node.inputs.get("encoder")
    if isinstance(encoder, Handle):  # whose vectors a head is fitted to
        training = encoder.node.output(Model)
    validation = last_validation = wire_score(settings, rows, model.node.name, model=model)
    if later:
        last = chain.model([*stages, *later])
        last_validation = wire_score(settings, rows, last.node.name, model=last)

    def step_names(*handles: Handle[Any]) -> frozenset[str]:
        return frozenset(node.name for node in search_pipeline(settings, handles).nodes)

    steps = step_names(validation)
    return TrialOutputs(
        training,
        model,
        validation,
        last_validation,
        steps=steps - step_names(*begin, *teachers),
        later_steps=step_names(last_validation) - steps,
        teachers=teachers,
        single_steps=step_names(*begin, *teachers) - step_names(*begin, chain.model()),
    )
