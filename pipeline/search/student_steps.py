"""The wiring of a search: the steps of its parts, and their names."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.measurements import Latency, SearchSpace, TrainingCost, Validation
from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.dsl.artifact import Artifact
from components.dsl.component import Handle
from components.fit_vocabulary import fit_vocabulary
from components.measure_distillation import measure_distillation
from components.measure_footprint import measure_footprint
from components.measure_latency import measure_latency
from components.measure_search_space import measure_search_space
from components.validate import validate
from keras_bert.options.compression import Distillation, Imitation
from keras_bert.options.quantization import Quantization
from pipeline.chains import Chain, enabled_stages
from pipeline.nodes import Start, append_name, append_seed, seeded
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import PushOutputs, add_evaluation_and_push, ingest_rows, pipeline_of, wire_start
from pipeline.search.candidates import Candidate, Grid, settings_of
from pipeline.settings.schema import Settings, select_fields

TEACHER = "teacher"
# The largest difference of scores in points: no regression is too large.
_ANY_REGRESSION = 100.0


class TeacherOutputs(NamedTuple):
    """The measurements of the teacher: its search space, its validation score, and the footprint of its float file."""

    search_space: Handle[SearchSpace]
    validation: Handle[Validation]
    latency: Handle[Latency]


class WinnerOutputs(NamedTuple):
    """The measurements of the winner for one seed: its validation score, and the footprint of its file."""

    validation: Handle[Validation]
    latency: Handle[Latency]


class _ReducedTeacher(NamedTuple):
    """A teacher with a reduced vocabulary, its initial model, and the rows in this vocabulary."""

    start: Start
    rows: Handle[TaskExamples]
    teacher: Handle[Model]


class Wiring:
    """Makes the nodes of a search; steps that are wired again are cached.

    Args:
        settings: the settings of the job.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        start, rows = wire_start(settings)
        self._chains = [Chain(settings, start, rows, seed) for seed in range(settings.seeds)]
        self._whole = [_ReducedTeacher(start, rows, chain.model()) for chain in self._chains]
        self._reduced_teachers: dict[tuple[int, int], _ReducedTeacher] = {}
        self._lengths = tuple(settings.export.choose_lengths(settings.max_length))

    def wire_teachers(self) -> list[Handle[Artifact]]:
        """The teachers of all seeds, and the rows that students learn from; they do not count as part of the search."""
        return [*(whole.teacher for whole in self._whole), self._chains[0].student_rows()]

    def measure_teacher(self) -> TeacherOutputs:
        """The measurements of the first teacher."""
        teacher, rows, metric = self._whole[0].teacher, self._whole[0].rows, self._settings.evaluation.metric
        footprint = measure_footprint(
            teacher=teacher, examples=rows, lengths=self._lengths, timed=(self._settings.max_length,)
        )
        scored = validate(examples=rows, model=teacher, metric=metric)
        return TeacherOutputs(
            measure_search_space(teacher=teacher, examples=rows).output(SearchSpace),
            append_name(scored, TEACHER).output(Validation),
            append_name(footprint, TEACHER).output(Latency),
        )

    def measure_candidate(self, candidate: Candidate, grid: Grid) -> Handle[Latency]:
        """The footprint of a candidate's file, with the whole vocabulary."""
        settings = settings_of(candidate, grid, self._settings, None)
        node = measure_footprint(
            teacher=self._whole[0].teacher,
            examples=self._whole[0].rows,
            lengths=self._lengths,
            timed=(self._settings.max_length,),
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
            shape=grid.shape(candidate, self._settings),
            distillation=select_fields(distillation, Distillation),
            imitation=select_fields(distillation, Imitation),
            # The length does not matter for the time of a step, and a constant one lets searches share the result.
            training=dataclasses.replace(seeded(distillation, 0), steps=None, epochs=1.0),
        )
        return node.output(TrainingCost)

    def try_candidate(self, candidate: Candidate, grid: Grid, share: float, label: str) -> Handle[Validation]:
        """The validation score of a candidate that trains for a share of the job's training, quantized without any."""
        settings = settings_of(candidate, grid, self._settings, share)
        label = f"{grid.name(candidate)}-{label}"
        reduced = self._reduced(0, candidate, grid)
        chain = Chain(
            settings, reduced.start, reduced.rows, 0, name_by_stage=True, label=label, teacher=reduced.teacher
        )
        model = chain.model(("student", "quantization"))
        node = validate(examples=reduced.rows, model=model, metric=self._settings.evaluation.metric)
        return append_name(node, label).output(Validation)

    def train_winner(self, candidate: Candidate, grid: Grid) -> list[WinnerOutputs]:
        """The measurements of the winner after the job's whole training, for each seed."""
        settings = settings_of(candidate, grid, self._settings, None)
        outputs = []
        for seed, chain in enumerate(self._winner_chains(candidate, grid)):
            edge, rows = chain.edge(enabled_stages(settings)), self._reduced(seed, candidate, grid).rows
            scored = validate(examples=rows, edge=edge, metric=settings.evaluation.metric)
            timed = measure_latency(edge=edge, lengths=(settings.max_length,))
            validation = append_seed(settings, seed, scored).output(Validation)
            outputs.append(WinnerOutputs(validation, append_seed(settings, seed, timed).output(Latency)))
        return outputs

    def tables(self, candidate: Candidate, grid: Grid) -> dict[str, dict[str, Any]]:
        """The settings tables of the winner that differ from the job's."""
        settings = settings_of(candidate, grid, self._settings, None)
        student = {name: value for name, value in vars(settings.student).items() if value is not None}
        tables = {"student": student, "quantization": {"recipe": candidate.recipe}}
        if candidate.vocabulary_size != grid.levels[4][0]:
            tables["fitted_vocabulary"] = {"size": candidate.vocabulary_size}
        return tables

    def push_winner(self, candidate: Candidate, grid: Grid, root: Path, megabytes: float | None) -> PushOutputs:
        """The evaluation and the push of the winner, as in a run of the job, but without the regression gate.

        A smaller model may well be worse than the version pushed before: `--min-share` says how much worse. A
        file that is pushed holds its records: its megabytes are compared with their limit once more.
        """
        settings = settings_of(candidate, grid, self._settings, None)
        size = min(filter(None, (megabytes, settings.evaluation.max_megabytes)), default=None)
        evaluation = dataclasses.replace(settings.evaluation, max_regression=_ANY_REGRESSION, max_megabytes=size)
        settings = settings.model_copy(update={"evaluation": evaluation})
        teachers = [whole.teacher for whole in self._whole]
        rows = self._reduced(0, candidate, grid).rows
        return add_evaluation_and_push(settings, root, rows, teachers, self._winner_chains(candidate, grid))

    def pipeline(self, handles: Sequence[Handle[Artifact]]) -> Pipeline:
        """The pipeline that makes these outputs."""
        return pipeline_of(f"{self._settings.name}/search-student", handles)

    def _winner_chains(self, candidate: Candidate, grid: Grid) -> list[Chain]:
        settings = settings_of(candidate, grid, self._settings, None)
        reduced = [self._reduced(seed, candidate, grid) for seed in range(self._settings.seeds)]
        return [
            Chain(settings, teacher.start, teacher.rows, seed, teacher=teacher.teacher)
            for seed, teacher in enumerate(reduced)
        ]

    def _reduced(self, seed: int, candidate: Candidate, grid: Grid) -> _ReducedTeacher:
        """The trained teacher with a candidate's vocabulary; training one for every vocabulary would take too long."""
        size = candidate.vocabulary_size
        if size == grid.levels[4][0]:
            return self._whole[seed]
        if (seed, size) not in self._reduced_teachers:
            self._reduced_teachers[seed, size] = self._reduce_teacher(seed, size)
        return self._reduced_teachers[seed, size]

    def _reduce_teacher(self, seed: int, size: int) -> _ReducedTeacher:
        whole, label = self._whole[seed], f"v{size}"
        fitted = fit_vocabulary(pretrained=whole.teacher, examples=whole.rows, size=size)
        append_seed(self._settings, seed, append_name(fitted, label))
        model, vocabulary = fitted.output(Model), fitted.output(Vocabulary)
        rows = append_seed(
            self._settings, seed, append_name(ingest_rows(self._settings, vocabulary, whole.start.corpus), label)
        )
        return _ReducedTeacher(Start(model, vocabulary, whole.start.corpus), rows.output(TaskExamples), model)
