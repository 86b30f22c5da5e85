"""A step of `[processors]`: exported files on emulated processors, as rows of the table of models."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from components.artifacts.evaluation import FurtherModels, FurtherRows, MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.blessing import Thresholds, judge_losses, loss_metrics
from components.scoring.candidates import find_candidates
from components.scoring.scorer import ModelScorer
from components.scoring.significance import compare_models
from keras_bert.core.folders import ANSWERING_FILES
from keras_bert.core.processor import usable_processors
from keras_bert.export.targets.registry import FILES
from plugins.processors.emulators import AARCH64_FOLDER, MAX_DIFFERENCE
from plugins.processors.settings import NAMES

# The time of a row on an emulated processor, over that of a row in a batch on this machine.
_EMULATED_ROW = 300


class _Emulated(NamedTuple):
    """The answers of a file on a processor, and their difference from those here, see `Emulator`."""

    answers: Sequence[Any]
    difference: float


@component(
    libraries=(
        "ai-edge-litert",
        "keras",
        "onnx",
        "onnxruntime",
        "scipy",
        "tensorflow",
        "tensorflow-text",
        "tokenizers",
    ),
    kind="measurement",
)
def measure_processors(
    examples: Input[TaskExamples],
    teachers: Input[list[Model]],
    students: Input[list[Model]],
    edges: Input[list[EdgeModel]],
    further: Output[FurtherModels],
    processors: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    rows: int = 100,
    metric: str = "",
    max_export_loss: float = 1.5,
    max_difference: float = MAX_DIFFERENCE,
    aarch64: str = AARCH64_FOLDER,
) -> None:
    """Scores exported files on emulated processors, and compares their outputs with those of this machine.

    Args:
        examples: the rows, whose test split is read.
        teachers: the fine-tuned models, one a seed.
        students: the float students, one a seed; empty if the teachers are exported.
        edges: the exported files of each seed.
        further: a row of the table for each file and processor, with its limits.
        processors: the processors, see `Processors`.
        files: the files, see `Processors`.
        rows: the number of test rows, the first ones.
        metric: the metric that decides; empty for the main one of the task.
        max_export_loss: the points that a file may lose against the float model on the same rows.
        max_difference: see `Processors`.
        aarch64: see `Processors`.

    Raises:
        InputError: the export wrote no such file; or a file cannot be answered on a processor.
    """
    description, test = examples.features(), read_rows(examples, "test")[:rows]
    names = choose_files(edges[0].path, files)
    pairs = [(name, processor) for name in names for processor in processors]
    source, seeds = next(iter((find_candidates([], students, []) or find_candidates(teachers, [], [])).items()))
    emulations = len(pairs) * len(edges)
    scorer = ModelScorer(description, len(test) * (len(seeds) + emulations * _EMULATED_ROW))
    metric = choose_metric(metric, scorer.scoring, scorer.labels)
    references = scorer.score_seeds(source, seeds, test)
    reference = MeasuredModel(SeedScores.table([seed.scores.metrics for seed in references]))
    emulated = _emulate(scorer, edges, pairs, test, aarch64)
    limits = Thresholds(metric=metric, max_export_loss=max_export_loss)
    table, verdicts, causes = dict[str, MeasuredModel](), list[tuple[bool, str]](), dict[str, str]()
    for (name, processor), runs in emulated.items():
        row, answers = f"{Path(name).name} on {processor}, {len(test)} rows", [run.answers for run in runs]
        scores = [scorer.scoring.score(test, seed, scorer.labels).metrics for seed in answers]
        table[row] = MeasuredModel(SeedScores.table(scores))
        sides = (answers, [seed.answers for seed in references])
        kept = loss_metrics(scores[0], metric)
        differences = {key: compare_models(scorer.scoring, test, *sides, scorer.labels, key) for key in kept}
        models: Mapping[str, MeasuredModel] = {source: reference, row: table[row]}
        difference = max(run.difference for run in runs)
        of_row = [
            *judge_losses(models, metric, row, limits, {source: differences}),
            judge_difference(row, difference, max_difference),
        ]
        verdicts += of_row
        if difference > max_difference:
            cause = describe_difference(name, processor, difference)
            causes |= {rule: cause for holds, rule in of_row if not holds}
    further.write(FurtherRows(table, verdicts, causes))


def choose_files(folder: Path, files: Sequence[str]) -> list[str]:
    """The files of an exported folder to answer, see `Processors`; raises InputError if there is none, or one lacks."""
    for name in files:
        if not (folder / name).is_file():
            raise InputError(f"processors.files must be files that the job exports, got {name!r}, which it does not")
    shipped = next((name for name in ANSWERING_FILES if (folder / name).is_file()), "")
    numbers = {file.name: file.numbers for file in FILES}
    usual = [name for name in NAMES if (folder / name).is_file() and (name == shipped or "int8" in numbers[name])]
    if not (files or usual):
        raise InputError("processors must be left out where no .tflite or .onnx file is exported, got none")
    return list(files) or usual


def judge_difference(row: str, difference: float, limit: float) -> tuple[bool, str]:
    """Whether the outputs of a row are those of this machine, and the rule."""
    rule = f"by at most processors.max_difference {100 * limit:g} % of their range, got {100 * difference:.2g} %"
    return difference <= limit, f"{row}: the outputs of the median row must differ from those of this machine {rule}"


def describe_difference(name: str, processor: str, difference: float) -> str:
    """The likely cause of a refusal of a file that has other outputs on a processor than on this machine."""
    return (
        f"{name} has other outputs on {processor} than on this machine, by {100 * difference:.3g} % of their range in "
        "the median row, whatever it learns; export another file for such processors (processors.files), or leave them "
        "out (processors.names)"
    )


def _emulate(
    scorer: ModelScorer, edges: Sequence[EdgeModel], pairs: Sequence[tuple[str, str]], rows: Sequence[Any], aarch64: str
) -> dict[tuple[str, str], list[_Emulated]]:
    """The answers of each file and processor, those of each seed; as many at once as this machine has processors."""
    from keras_bert.export.bundle import load_exported
    from plugins.processors.emulated import emulated

    def answer(edge: EdgeModel, name: str, processor: str) -> _Emulated:
        task = load_exported(edge.path, name)
        with emulated(task, edge.file(name), processor, aarch64) as emulator:
            answers = scorer.scoring.answer(task, rows)
        return _Emulated(answers, emulator.difference)

    with ThreadPoolExecutor(usable_processors()) as pool:
        waiting = {pair: [pool.submit(answer, edge, *pair) for edge in edges] for pair in pairs}
        try:
            results = {}
            for pair, seeds in waiting.items():
                scorer.report(f"{pair[0]} on {pair[1]}", len(seeds) * len(rows) * _EMULATED_ROW)
                results[pair] = [seed.result() for seed in seeds]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results
