"""The wiring of a search within limits: the measurements of a teacher, trials of its students, and the winner."""

import abc
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from components.artifacts.evaluation import Evaluation
from components.artifacts.measurements import Latency
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel, Model, TaskExamples, Vocabulary
from components.dsl.artifact import Artifact
from components.dsl.component import Handle
from components.dsl.errors import InputError
from components.fit_vocabulary import fit_vocabulary
from components.measure_latency import measure_latency
from components.scoring.blessing import Thresholds
from keras_bert.options.quantization import Quantization
from pipeline.capabilities import is_joint, split_job
from pipeline.chains import Chain, enabled_stages
from pipeline.nodes import TuningInputs, append_name, append_seed, seeded
from pipeline.pipelines import add_evaluation_and_push, build_pipeline, ingest_rows, wire_start
from pipeline.settings.schema import Settings, select_fields
from plugins.search.artifacts import SearchSpace, TrainingCost, Validation
from plugins.search.candidates import Candidate, Grid
from plugins.search.limits import Limits
from plugins.search.measure_distillation import measure_distillation
from plugins.search.measure_footprint import measure_footprint
from plugins.search.measure_search_space import measure_search_space
from plugins.search.steps import inputs_of, joint_chains, wire_score

TEACHER = "teacher"
# The largest difference of scores in points: no regression is too large.
_ANY_REGRESSION = 100.0


class ModelOutputs(NamedTuple):
    """The measurements of a teacher or a winner of one seed: its validation score, and the footprint of its file."""

    validation: Handle[Validation]
    latency: Handle[Latency]


class WinnerOutputs(NamedTuple):
    """The scores of a winner on test rows by the name of the task, and the pushed version."""

    evaluations: dict[str, Handle[Evaluation]]
    pushed: Handle[Pushed]


class StudentWiring(abc.ABC):
    """Makes the nodes of a search for a student; steps that are wired again are cached.

    Args:
        settings: the job.
        teacher: the teacher of the first seed.
        rows: the rows of each task.
        student_rows: the rows of each task that students learn from.
    """

    def __init__(
        self,
        settings: Settings,
        teacher: Handle[Model],
        rows: Sequence[Handle[TaskExamples]],
        student_rows: Sequence[Handle[TaskExamples]],
    ) -> None:
        self._settings, self._teacher, self._rows, self._student_rows = settings, teacher, rows, student_rows
        jobs = split_job(settings)
        self.tasks = tuple(jobs)
        self.max_length = max(job.max_length for job in jobs.values())
        # How often small tasks have a turn in the trainings of several, see `measure_distillation`.
        self._temperature = 1.0
        self._timing = {
            "lengths": tuple(settings.export.choose_lengths(self.max_length)),
            "timed": (self.max_length,),
        }

    @abc.abstractmethod
    def wire_teachers(self) -> list[Handle[Artifact]]:
        """The teachers of all seeds, and the rows that students learn from; they do not count as part of the search."""

    def measure_teacher(self) -> tuple[Handle[SearchSpace], ModelOutputs]:
        """The search space of the first teacher, and its measurements."""
        space = measure_search_space(teacher=self._teacher, examples=[*self._rows]).output(SearchSpace)
        footprint = measure_footprint(teacher=self._teacher, examples=self._rows[0], **self._timing)
        latency = append_name(footprint, TEACHER).output(Latency)
        return space, ModelOutputs(wire_score(self._settings, self._rows, TEACHER, model=self._teacher), latency)

    def measure_candidate(self, candidate: Candidate, grid: Grid) -> Handle[Latency]:
        """The footprint of a candidate's file, with the whole vocabulary."""
        settings = grid.settings_of(candidate)
        node = measure_footprint(
            teacher=self._teacher,
            examples=self._rows[0],
            **self._timing,
            shape=settings.student,
            quantization=select_fields(settings.quantization, Quantization),
        )
        return append_name(node, grid.name(candidate)).output(Latency)

    def time_training(self, candidate: Candidate, grid: Grid) -> Handle[TrainingCost]:
        """The time of a step of a candidate's distillation."""
        distillation = self._settings.distillation
        node = measure_distillation(
            teacher=self._teacher,
            examples=[*self._student_rows],
            names=self.tasks,
            temperature=self._temperature,
            shape=grid.shape(candidate),
            # The length does not matter for the time of a step, and a constant one lets searches share the result.
            distillation=dataclasses.replace(seeded(distillation, 0), steps=None, epochs=1.0),
        )
        return node.output(TrainingCost)

    @abc.abstractmethod
    def try_candidate(self, candidate: Candidate, grid: Grid, share: float, round_number: int) -> Handle[Validation]:
        """The validation score of a candidate that trains for a share of the job's training, quantized without any."""

    def train_winner(self, candidate: Candidate, grid: Grid) -> list[ModelOutputs]:
        """The measurements of the winner after the job's whole training, for each seed."""
        settings, outputs = grid.settings_of(candidate), []
        for seed, (edge, rows) in enumerate(self._export_winner(candidate, grid)):
            suffix = str(seed) if settings.seeds > 1 else ""
            timed = append_name(measure_latency(edge=edge, lengths=(self.max_length,)), suffix)
            outputs.append(ModelOutputs(wire_score(settings, rows, suffix, edge=edge), timed.output(Latency)))
        return outputs

    @abc.abstractmethod
    def push_winner(self, candidate: Candidate, grid: Grid, root: Path, limits: Limits) -> WinnerOutputs:
        """The evaluation and the push of the winner, as in a run of the job, but without the regression gate.

        A smaller model may well be worse than the version pushed before: `--min-share` says how much worse. A
        file that is pushed holds its records: its sizes are compared with their limits once more.
        """

    @abc.abstractmethod
    def _export_winner(
        self, candidate: Candidate, grid: Grid
    ) -> list[tuple[Handle[EdgeModel], list[Handle[TaskExamples]]]]:
        """The files of the winner for each seed, and the rows of each task that they answer."""


def wire_students(settings: Settings) -> StudentWiring:
    """The wiring of a search for the student of a job, of one task or of several."""
    return JointStudentWiring(settings) if is_joint(settings) else SingleStudentWiring(settings)


class JointStudentWiring(StudentWiring):
    """The nodes for a job of several tasks, which have one vocabulary, that of the checkpoint.

    The settings of a candidate are a whole job: its steps are those of the candidate.
    """

    def __init__(self, settings: Settings) -> None:
        self._chains = joint_chains(settings)
        first = self._chains[0]
        super().__init__(settings, first.model(), first.rows, first.rows)
        self._temperature = first.model().node.values["temperature"]

    def wire_teachers(self) -> list[Handle[Artifact]]:
        return [handle for chain in self._chains for handle in chain.teachers]

    def try_candidate(self, candidate: Candidate, grid: Grid, share: float, round_number: int) -> Handle[Validation]:
        settings = grid.settings_of(candidate, share)
        label = f"{grid.name(candidate)}-{round_number}"
        # Trials are not pruned.
        chain = joint_chains(settings.model_copy(update={"pruning": None}))[0]
        quantized = chain.model(("student", "quantization"))
        append_name(chain.model(("student",)).node, label)
        append_name(quantized.node, label)
        return wire_score(settings, chain.rows, label, model=quantized)

    def push_winner(self, candidate: Candidate, grid: Grid, root: Path, limits: Limits) -> WinnerOutputs:
        push = build_pipeline(grid.settings_of(candidate), root).nodes[-1]
        evaluations = {}
        for evaluation in inputs_of(push, Evaluation):
            values = evaluation.node.values
            values["thresholds"] = _limit(values["thresholds"], limits)
            evaluations[values["part"]] = evaluation
        return WinnerOutputs(evaluations, push.output(Pushed))

    def _export_winner(
        self, candidate: Candidate, grid: Grid
    ) -> list[tuple[Handle[EdgeModel], list[Handle[TaskExamples]]]]:
        return [(chain.edge, chain.rows) for chain in joint_chains(grid.settings_of(candidate))]


class _ReducedTeacher(NamedTuple):
    """A teacher with a reduced vocabulary, its initial model, and the rows in this vocabulary."""

    start: TuningInputs
    rows: Handle[TaskExamples]
    teacher: Handle[Model]


class SingleStudentWiring(StudentWiring):
    """The nodes for a job of one task."""

    def __init__(self, settings: Settings) -> None:
        start, rows = wire_start(settings)
        if start.taught is not None:
            raise InputError(
                "a search for a student must have a job whose teacher is fine-tuned on the rows, got one whose student "
                "learns vectors of texts; leave out that table, or search for settings without limits"
            )
        self._chains = [Chain(settings, start, rows, seed) for seed in range(settings.seeds)]
        self._whole = [_ReducedTeacher(start, rows, chain.model()) for chain in self._chains]
        self._reduced_teachers: dict[tuple[int, int], _ReducedTeacher] = {}
        super().__init__(settings, self._whole[0].teacher, [rows], [self._chains[0].student_rows()])

    def wire_teachers(self) -> list[Handle[Artifact]]:
        return [*(whole.teacher for whole in self._whole), *self._student_rows]

    def try_candidate(self, candidate: Candidate, grid: Grid, share: float, round_number: int) -> Handle[Validation]:
        settings = grid.settings_of(candidate, share)
        label = f"{grid.name(candidate)}-{round_number}"
        start, rows, teacher = self._reduced(0, candidate, grid)
        chain = Chain(settings, start, rows, 0, name_by_stage=True, label=label, teacher=teacher)
        return wire_score(settings, [rows], label, model=chain.model(("student", "quantization")))

    def push_winner(self, candidate: Candidate, grid: Grid, root: Path, limits: Limits) -> WinnerOutputs:
        settings = grid.settings_of(candidate)
        settings = settings.model_copy(update={"evaluation": _limit(settings.evaluation, limits)})
        teachers, rows = [whole.teacher for whole in self._whole], self._reduced(0, candidate, grid).rows
        chains = self._winner_chains(settings, candidate, grid)
        # The head that was fitted to the checkpoint's vectors has the whole vocabulary, as the teachers have.
        outputs = add_evaluation_and_push(settings, root, rows, teachers, chains, self._chains[0].checkpoint)
        return WinnerOutputs({"": outputs.evaluation}, outputs.pushed)

    def _export_winner(
        self, candidate: Candidate, grid: Grid
    ) -> list[tuple[Handle[EdgeModel], list[Handle[TaskExamples]]]]:
        settings = grid.settings_of(candidate)
        return [
            (chain.edge(enabled_stages(settings)), [self._reduced(seed, candidate, grid).rows])
            for seed, chain in enumerate(self._winner_chains(settings, candidate, grid))
        ]

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


def _limit(thresholds: Thresholds, limits: Limits) -> Thresholds:
    """The limits of a push that hold for a winner: any regression, and sizes within both limits."""
    return dataclasses.replace(
        thresholds,
        max_regression=_ANY_REGRESSION,
        max_megabytes=_stricter(limits.megabytes, thresholds.max_megabytes),
        max_download_megabytes=_stricter(limits.download_megabytes, thresholds.max_download_megabytes),
    )


def _stricter(*limits: float | None) -> float | None:
    return min(filter(None, limits), default=None)
