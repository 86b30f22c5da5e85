"""The wiring of a search: models with their scores on validation rows. Trials share all steps that are equal."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.measurements import Latency
from components.artifacts.standard import EdgeModel, Model, TaskExamples, Vocabulary
from components.dsl.artifact import Artifact
from components.dsl.component import Handle, Node
from components.dsl.errors import InputError
from components.fit_vocabulary import fit_vocabulary
from components.measure_latency import measure_latency
from keras_bert.options.quantization import Quantization
from pipeline.capabilities import split_job
from pipeline.chains import STAGES, Chain, Stage, enabled_stages
from pipeline.nodes import TuningInputs, append_name, append_seed, seeded
from pipeline.orchestrator.graph import Pipeline, sources_of
from pipeline.pipelines import (
    PushOutputs,
    add_evaluation_and_push,
    build_pipeline,
    ingest_rows,
    pipeline_of,
    wire_start,
)
from pipeline.settings.schema import Settings, select_fields
from plugins.search.artifacts import SearchSpace, TrainingCost, Validation
from plugins.search.candidates import Candidate, Grid
from plugins.search.limits import Limits
from plugins.search.measure_distillation import measure_distillation
from plugins.search.measure_footprint import measure_footprint
from plugins.search.measure_search_space import measure_search_space
from plugins.search.validate import validate
from plugins.search.validate_together import validate_together

TEACHER = "teacher"
# The largest difference of scores in points: no regression is too large.
_ANY_REGRESSION = 100.0


def search_pipeline(settings: Settings, handles: Sequence[Handle[Artifact]]) -> Pipeline:
    """The pipeline that makes some outputs of a search."""
    return pipeline_of(f"{settings.name}/search", handles)


def start_pipeline(settings: Settings) -> Pipeline:
    """The steps that all trials share: the rows, and the models that trainings start from."""
    if is_joint(settings):
        return search_pipeline(settings, JointChain(settings, 0).start)
    start, rows = wire_start(settings)
    return search_pipeline(settings, [start.model, rows, *([] if start.student is None else [start.student])])


def is_joint(settings: Settings) -> bool:
    """Whether a job has several tasks, which are trained together."""
    return "" not in split_job(settings)


class JointChain:
    """The models of one seed of a job of several tasks, in the steps of the job that lead to the files that are pushed.

    A capability wires such steps. The first `Model` input of each step is the model that it changes.
    """

    def __init__(self, settings: Settings, seed: int) -> None:
        trainings = {name: getattr(settings, name) for name in ("fine_tuning", "distillation", *STAGES[1:])}
        changes = {name: seeded(training, seed) for name, training in trainings.items() if training is not None}
        self.jobs = split_job(settings)
        # No step of a search is a push, which alone knows the root.
        push = build_pipeline(settings.model_copy(update=changes), Path()).nodes[-1]
        export = _first(push, EdgeModel).node
        self.rows = [handle for handle in sources_of(export) if handle.artifact is TaskExamples]
        self._models = [_first(export, Model)]
        while (start := _first(self._models[0].node, Model)).node.component.kind == "training":
            self._models.insert(0, start)
        self.start = [start, *self.rows]

    def model(self, stages: Sequence[Stage] = ()) -> Handle[Model]:
        """The model that the first stages of the job make of the teacher."""
        return self._models[len(stages)]

    def score(self, model: Handle[Model]) -> Handle[Validation]:
        """The mean of the scores of the tasks on their validation rows."""
        metrics = tuple(job.evaluation.metric for job in self.jobs.values())
        node = validate_together(examples=self.rows, model=model, names=tuple(self.jobs), metrics=metrics)
        return append_name(node, model.node.name).output(Validation)


def _first(node: Node, kind: type[Artifact]) -> Handle[Any]:
    """The first output of other nodes of a type that a node reads."""
    return next(handle for handle in sources_of(node) if handle.artifact is kind)


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
    if is_joint(settings):
        chain = JointChain(settings, seed)
        begin, score = chain.start, chain.score
        # A student may learn from a teacher of each task.
        teachers = list(sources_of(chain.model(stages).node)) if stages else []
    else:
        start, rows = wire_start(settings)
        chain, begin = Chain(settings, start, rows, seed), [start.model, rows]
        teachers = [chain.model()] if stages else []

        def score(model: Handle[Model]) -> Handle[Validation]:
            return _score(settings, rows, model.node.name, model=model)

    training = model = chain.model(stages)
    encoder = model.node.inputs.get("encoder")
    if isinstance(encoder, Handle):  # whose vectors a head is fitted to
        training = encoder.node.output(Model)
    validation = last_validation = score(model)
    if later:
        last_validation = score(chain.model([*stages, *later]))

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


class ModelOutputs(NamedTuple):
    """The measurements of a teacher or a winner of one seed: its validation score, and the footprint of its file."""

    validation: Handle[Validation]
    latency: Handle[Latency]


class _ReducedTeacher(NamedTuple):
    """A teacher with a reduced vocabulary, its initial model, and the rows in this vocabulary."""

    start: TuningInputs
    rows: Handle[TaskExamples]
    teacher: Handle[Model]


class StudentWiring:
    """Makes the nodes of a search for a student; steps that are wired again are cached."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        start, rows = wire_start(settings)
        if start.taught is not None:
            raise InputError(
                "a search for a student must have a job whose teacher is fine-tuned on the rows, got one whose student "
                "learns vectors of texts; leave out that table, or search for settings without limits"
            )
        self._chains = [Chain(settings, start, rows, seed) for seed in range(settings.seeds)]
        self._whole = [_ReducedTeacher(start, rows, chain.model()) for chain in self._chains]
        self._reduced_teachers: dict[tuple[int, int], _ReducedTeacher] = {}
        self._timing = {
            "lengths": tuple(settings.export.choose_lengths(settings.max_length)),
            "timed": (settings.max_length,),
        }

    def wire_teachers(self) -> list[Handle[Artifact]]:
        """The teachers of all seeds, and the rows that students learn from; they do not count as part of the search."""
        return [*(whole.teacher for whole in self._whole), self._chains[0].student_rows()]

    def measure_teacher(self) -> tuple[Handle[SearchSpace], ModelOutputs]:
        """The search space of the first teacher, and its measurements."""
        _, rows, teacher = self._whole[0]
        space = measure_search_space(teacher=teacher, examples=rows).output(SearchSpace)
        footprint = append_name(measure_footprint(teacher=teacher, examples=rows, **self._timing), TEACHER)
        return space, ModelOutputs(_score(self._settings, rows, TEACHER, model=teacher), footprint.output(Latency))

    def measure_candidate(self, candidate: Candidate, grid: Grid) -> Handle[Latency]:
        """The footprint of a candidate's file, with the whole vocabulary."""
        settings = grid.settings_of(candidate)
        node = measure_footprint(
            teacher=self._whole[0].teacher,
            examples=self._whole[0].rows,
            **self._timing,
            shape=settings.student,
            quantization=select_fields(settings.quantization, Quantization),
        )
        return append_name(node, grid.name(candidate)).output(Latency)

    def time_training(self, candidate: Candidate, grid: Grid) -> Handle[TrainingCost]:
        """The time of a step of a candidate's distillation."""
        distillation = self._settings.distillation
        node = measure_distillation(
            teacher=self._whole[0].teacher,
            examples=self._chains[0].student_rows(),
            shape=grid.shape(candidate),
            # The length does not matter for the time of a step, and a constant one lets searches share the result.
            distillation=dataclasses.replace(seeded(distillation, 0), steps=None, epochs=1.0),
        )
        return node.output(TrainingCost)

    def try_candidate(self, candidate: Candidate, grid: Grid, share: float, round_number: int) -> Handle[Validation]:
        """The validation score of a candidate that trains for a share of the job's training, quantized without any."""
        settings, label = grid.settings_of(candidate, share), f"{grid.name(candidate)}-{round_number}"
        start, rows, teacher = self._reduced(0, candidate, grid)
        chain = Chain(settings, start, rows, 0, name_by_stage=True, label=label, teacher=teacher)
        return _score(settings, rows, label, model=chain.model(("student", "quantization")))

    def train_winner(self, candidate: Candidate, grid: Grid) -> list[ModelOutputs]:
        """The measurements of the winner after the job's whole training, for each seed."""
        settings, outputs = grid.settings_of(candidate), []
        for seed, chain in enumerate(self._winner_chains(settings, candidate, grid)):
            edge, rows = chain.edge(enabled_stages(settings)), self._reduced(seed, candidate, grid).rows
            suffix = str(seed) if settings.seeds > 1 else ""
            timed = append_name(measure_latency(edge=edge, lengths=(settings.max_length,)), suffix)
            outputs.append(ModelOutputs(_score(settings, rows, suffix, edge=edge), timed.output(Latency)))
        return outputs

    def push_winner(self, candidate: Candidate, grid: Grid, root: Path, limits: Limits) -> PushOutputs:
        """The evaluation and the push of the winner, as in a run of the job, but without the regression gate.

        A smaller model may well be worse than the version pushed before: `--min-share` says how much worse. A
        file that is pushed holds its records: its sizes are compared with their limits once more.
        """
        settings = grid.settings_of(candidate)
        of_job = settings.evaluation
        evaluation = dataclasses.replace(
            of_job,
            max_regression=_ANY_REGRESSION,
            max_megabytes=_stricter(limits.megabytes, of_job.max_megabytes),
            max_download_megabytes=_stricter(limits.download_megabytes, of_job.max_download_megabytes),
        )
        settings = settings.model_copy(update={"evaluation": evaluation})
        teachers, rows = [whole.teacher for whole in self._whole], self._reduced(0, candidate, grid).rows
        chains = self._winner_chains(settings, candidate, grid)
        # The head that was fitted to the checkpoint's vectors has the whole vocabulary, as the teachers have.
        return add_evaluation_and_push(settings, root, rows, teachers, chains, self._chains[0].checkpoint)

    def _winner_chains(self, settings: Settings, candidate: Candidate, grid: Grid) -> list[Chain]:
        reduced = [self._reduced(seed, candidate, grid) for seed in range(settings.seeds)]
        return [
            Chain(settings, start, rows, seed, teacher=teacher) for seed, (start, rows, teacher) in enumerate(reduced)
        ]

    def _reduced(self, seed: int, candidate: Candidate, grid: Grid) -> _ReducedTeacher:
        """The trained teacher with a candidate's vocabulary; training one for every vocabulary would take too long."""
        size, whole = candidate.vocabulary_size, self._whole[seed]
        if size == grid.whole_vocabulary:
            return whole
        if (seed, size) not in self._reduced_teachers:
            fitted = fit_vocabulary(pretrained=whole.teacher, examples=whole.rows, size=size)
            model, vocabulary = fitted.output(Model), fitted.output(Vocabulary)
            assert whole.start.rows is not None
            ingested = ingest_rows(self._settings, whole.start.rows, vocabulary, whole.start.corpus)
            for node in (fitted, ingested):
                append_seed(self._settings, seed, append_name(node, f"v{size}"))
            start = whole.start._replace(model=model, vocabulary=vocabulary, student=None)
            self._reduced_teachers[seed, size] = _ReducedTeacher(start, ingested.output(TaskExamples), model)
        return self._reduced_teachers[seed, size]


def _stricter(*limits: float | None) -> float | None:
    return min(filter(None, limits), default=None)


def _score(
    settings: Settings,
    rows: Handle[TaskExamples],
    name: str,
    *,
    model: Handle[Model] | None = None,
    edge: Handle[EdgeModel] | None = None,
) -> Handle[Validation]:
    """The score of a model, or of an exported file, on validation rows in the job's metric."""
    node = validate(examples=rows, model=model, edge=edge, metric=settings.evaluation.metric)
    return append_name(node, name).output(Validation)
