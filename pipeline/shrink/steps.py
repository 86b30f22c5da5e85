"""The wiring of a search: which steps each of its parts asks for, and what they are called."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.component import Handle, Node
from components.fit_vocabulary import fit_vocabulary
from components.measure_distillation import measure_distillation
from components.measure_latency import measure_latency
from components.survey import survey
from components.validate import validate
from components.weigh import weigh
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation
from keras_bert.options.quantization import Quantization
from pipeline.chains import Chain, Start, asked_parts, named_after, of_seed, seeded
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import begun, pushing, rows_in_pieces
from pipeline.settings.schema import Settings, part
from pipeline.shrink.candidates import Candidate, Grid, settings_of

TEACHER = "teacher"


class _Cut(NamedTuple):
    """A teacher that knows so many pieces, its start, and the rows in them."""

    start: Start
    rows: Handle
    teacher: Handle


class Wiring:
    """Makes the nodes of a search; steps that are wired again are found done.

    Args:
        settings: of the job.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        start, rows = begun(settings)
        self._chains = [Chain(settings, start, rows, seed) for seed in range(settings.seeds)]
        self._whole = [_Cut(start, rows, chain.model()) for chain in self._chains]
        self._cut_down: dict[tuple[int, int], _Cut] = {}
        self._lengths = tuple(settings.export.choose_lengths(settings.max_length))

    def preparing(self) -> list[Node]:
        """The teachers, and the answers of the first one where its students learn from them: no part of the search."""
        return [*(cut.teacher.node for cut in self._whole), self._chains[0].answered().node]

    def surveying(self) -> list[Node]:
        """What the teacher is, how good on validation rows, and what its float file weighs and takes."""
        teacher, rows, metric = self._whole[0].teacher, self._whole[0].rows, self._settings.evaluation.metric
        node = weigh(teacher=teacher, examples=rows, lengths=self._lengths, timed=(self._settings.max_length,))
        scored = validate(examples=rows, model=teacher, metric=metric)
        looked = survey(teacher=teacher, examples=rows)
        return [looked, named_after(scored, TEACHER), named_after(node, TEACHER)]

    def weighing(self, candidate: Candidate, grid: Grid) -> Node:
        """What a candidate weighs with all pieces, and takes."""
        own = settings_of(candidate, grid, self._settings, None)
        node = weigh(
            teacher=self._whole[0].teacher,
            examples=self._whole[0].rows,
            lengths=self._lengths,
            timed=(self._settings.max_length,),
            shape=own.student,
            quantization=part(own.quantization, Quantization),
        )
        return named_after(node, grid.name(candidate))

    def timing(self, candidate: Candidate, grid: Grid) -> Node:
        """What a step of a candidate's distillation takes."""
        own = self._settings.distillation
        node: Node = measure_distillation(
            teacher=self._whole[0].teacher,
            examples=self._chains[0].answered(),
            shape=grid.shape(candidate, self._settings),
            distillation=part(own, Distillation),
            imitation=part(own, Imitation),
            # How long does not matter, and shall not tell one command's cost from another's.
            training=dataclasses.replace(seeded(own, 0), steps=None, epochs=1.0),
        )
        return node

    def trying(self, candidate: Candidate, grid: Grid, share: float, label: str) -> Node:
        """A candidate's training for a share of the job's, rounded as it is, on validation rows."""
        own = settings_of(candidate, grid, self._settings, share)
        label = f"{grid.name(candidate)}-{label}"
        cut = self._cut(0, candidate, grid)
        chain = Chain(own, cut.start, cut.rows, 0, told=True, label=label, teacher=cut.teacher)
        model = chain.model(("student", "quantization"))
        node = validate(examples=cut.rows, model=model, metric=self._settings.evaluation.metric)
        return named_after(node, label)

    def winning(self, candidate: Candidate, grid: Grid) -> list[Node]:
        """The winner's own training and its files, on validation rows and timed, a pair of nodes a seed."""
        own = settings_of(candidate, grid, self._settings, None)
        nodes = []
        for seed, chain in enumerate(self._winners(candidate, grid)):
            edge, rows = chain.edge(asked_parts(own)), self._cut(seed, candidate, grid).rows
            scored = validate(examples=rows, edge=edge, metric=own.evaluation.metric)
            timed = measure_latency(edge=edge, lengths=(own.max_length,))
            nodes += [of_seed(own, seed, node) for node in (scored, timed)]
        return nodes

    def tables(self, candidate: Candidate, grid: Grid) -> dict[str, dict[str, Any]]:
        """What the winner's tables say that those of the job do not."""
        own = settings_of(candidate, grid, self._settings, None)
        student = {name: value for name, value in vars(own.student).items() if value is not None}
        found = {"student": student, "quantization": {"recipe": candidate.recipe}}
        if candidate.pieces != grid.levels[4][0]:
            found["fitted_vocabulary"] = {"size": candidate.pieces}
        return found

    def pushing(self, candidate: Candidate, grid: Grid, root: Path) -> Pipeline:
        """Test rows, the blessing, and the push, as a run of the job has them."""
        own = settings_of(candidate, grid, self._settings, None)
        teachers = [cut.teacher for cut in self._whole]
        return pushing(own, root, self._cut(0, candidate, grid).rows, teachers, self._winners(candidate, grid))

    def pipeline(self, nodes: Sequence[Node]) -> Pipeline:
        """Some of these nodes, with all behind them."""
        return Pipeline(f"{self._settings.name}/shrink", nodes)

    def _winners(self, candidate: Candidate, grid: Grid) -> list[Chain]:
        own, cuts = settings_of(candidate, grid, self._settings, None), self._cuts(candidate, grid)
        return [Chain(own, cut.start, cut.rows, seed, teacher=cut.teacher) for seed, cut in enumerate(cuts)]

    def _cuts(self, candidate: Candidate, grid: Grid) -> list[_Cut]:
        return [self._cut(seed, candidate, grid) for seed in range(self._settings.seeds)]

    def _cut(self, seed: int, candidate: Candidate, grid: Grid) -> _Cut:
        """The trained teacher with a candidate's pieces: to train another one for each vocabulary takes too long."""
        whole, key = self._whole[seed], (seed, candidate.pieces)
        if candidate.pieces == grid.levels[4][0]:
            return whole
        if key not in self._cut_down:
            self._cut_down[key] = self._cut_to(seed, candidate.pieces)
        return self._cut_down[key]

    def _cut_to(self, seed: int, pieces: int) -> _Cut:
        whole, label = self._whole[seed], f"v{pieces}"
        fitted = fit_vocabulary(pretrained=whole.teacher, examples=whole.rows, size=pieces)
        fitted = of_seed(self._settings, seed, named_after(fitted, label))
        rows = of_seed(self._settings, seed, named_after(rows_in_pieces(self._settings, fitted.vocabulary), label))
        start = Start(fitted.model, fitted.vocabulary, whole.start.corpus)
        return _Cut(start, rows.examples, fitted.model)
