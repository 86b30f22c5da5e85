"""A Markdown table of jobs: the scores of their models on test rows, mean and sample standard deviation over seeds.

    python -m benchmarks.table JOB.toml ... [--seeds 3] [--draws 10] [--teachers] [--baseline JOB] [--set KEY=VALUE]

The jobs of a benchmark are in a folder of `benchmarks/jobs`. The first lines of its first job say how it is run, and
which choices were made before any result was known. The table of one job shows all models and metrics; the table of
several jobs shows, for each, the deciding metric of the model that it would push. Jobs with the same root share steps.
Nothing is pushed.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks.harness.processes import watch
from components.artifacts.evaluation import Evaluation, MeasuredModel, Metrics
from components.artifacts.measurements import Latency
from components.artifacts.standard import Model
from components.evaluate import evaluate
from components.measure_latency import measure_latency
from components.scoring.blessing import STUDENT, TEACHER
from pipeline.chains import Chain, enabled_stages
from pipeline.job.files import Tables, make_settings, override_tables, read_tables
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.runner import RunResult, run_pipeline
from pipeline.pipelines import add_rows, pipeline_of, wire_start
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal

# The steps whose minutes are those of a model.
TRAININGS = {TEACHER: ("fine_tune", "fit_head"), STUDENT: ("distill",)}


class Measured(NamedTuple):
    """A draw of a job: its tables, scores, the first seed's teacher, and the milliseconds of its file by length."""

    tables: Tables
    metrics: Metrics
    result: RunResult
    teacher: Model | None
    milliseconds: Mapping[str, float]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="+", type=Path, metavar="JOB", help="TOML files")
    parser.add_argument("--seeds", type=int, help="models of each job, by default as the job says")
    parser.add_argument("--draws", type=int, default=1, help="runs of each job; {draw} in its paths is 0, 1, 2, ...")
    parser.add_argument("--teachers", action="store_true", help="no students and no files")
    parser.add_argument("--baseline", help="a job of the table; shows differences from it, seed by seed")
    parser.add_argument("--lengths", type=int, nargs="+", default=[], help="tokens of rows to time the files with")
    parser.add_argument("--steps", action="store_true", help="measure a training step, and the weights that it trains")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="sets a key of each job")
    parser.add_argument("--root", type=Path, help="the folder for artifacts, to resume later; default: temporary")
    options = parser.parse_args()
    options.jobs = list(dict.fromkeys(options.jobs))
    check_options(parser, options)
    with tempfile.TemporaryDirectory() as temporary:
        root = (options.root or Path(temporary)).absolute()
        jobs = {
            file.stem: [measure(file, draw, options, root) for draw in range(options.draws)] for file in options.jobs
        }
        rows = describe_models(*jobs.values()) if len(jobs) == 1 else describe_jobs(jobs, options)
    print_table(rows)


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program for options that fit no table, before a job runs."""
    names = [file.stem for file in options.jobs]
    if len(set(names)) < len(names):
        parser.error(f"jobs must have different file names, which name their rows, got {', '.join(names)}")
    if options.baseline not in (None, *names):
        parser.error(f"--baseline must be the name of a job of the table, {', '.join(names)}, got {options.baseline!r}")
    if len(names) == 1 and (options.baseline is not None or options.steps):
        parser.error("--baseline and --steps must stand beside several jobs, as the table of one job shows its models")
    if options.teachers and options.lengths:
        parser.error("--lengths must be left out with --teachers, which makes no files")


def measure(file: Path, draw: int, options: argparse.Namespace, root: Path) -> Measured:
    """Runs a job up to its scores; if there are several draws, the number of the draw is also the teacher's seed."""
    overrides = [*options.set, *([] if options.seeds is None else [f"seeds={options.seeds}"])]
    overrides += [f"fine_tuning.seed={draw}"] if options.draws > 1 else []
    tables = json.loads(json.dumps(read_tables(file)).replace("{draw}", str(draw)))
    tables = override_tables(tables, [override.replace("{draw}", str(draw)) for override in overrides])
    settings = make_settings(tables)
    start, rows = wire_start(settings)
    chains = [Chain(settings, start, rows, seed) for seed in range(settings.seeds)]
    stages = enabled_stages(settings)
    edges = [] if options.teachers else [chain.edge(stages) for chain in chains]
    teachers = [teacher for chain in chains for teacher in chain.teachers()]
    students = [chain.model(("student",)) for chain in chains if "student" in stages and edges]
    evaluated = evaluate(
        examples=rows,
        teachers=teachers,
        students=students,
        edges=edges,
        further=add_rows(settings, rows, teachers, students, edges) if edges else [],
        checkpoint=chains[0].checkpoint,
        thresholds=settings.evaluation,
        baselines=bool(edges),
    ).output(Evaluation)
    timed = [measure_latency(edge=edges[0], lengths=tuple(options.lengths)).output(Latency)] if options.lengths else []
    result = run(settings, pipeline_of(settings.name, [evaluated, *timed]), root)
    milliseconds = next(iter(result.artifact(timed[0]).read().values())).milliseconds if timed else {}
    metrics, teacher = result.artifact(evaluated).read(), result.artifact(teachers[0]) if teachers else None
    score = {"job": file.stem, "draw": draw, metrics.metric: metrics.score.seeds}
    print(json.dumps(score), file=sys.stderr, flush=True)
    return Measured(tables, metrics, result, teacher, milliseconds)


def run(settings: Settings, pipeline: Pipeline, root: Path) -> RunResult:
    """Runs a pipeline and shows it on standard error; a failure ends the program with its message."""
    result = run_pipeline(pipeline, root, observer=Terminal(Console(stderr=True)), **settings.run_options())
    if result.state != "done":
        raise SystemExit(result.message)
    return result


def describe_models(draws: Sequence[Measured]) -> list[dict[str, str]]:
    """A row for each model of a job."""
    metrics = draws[0].metrics
    return [
        {
            "model": name,
            **{metric: spread(seed_scores(draws, name, metric)) for metric in metrics.metric_names},
            **costs(name, draws, model),
        }
        for name, model in metrics.models.items()
    ]


def describe_jobs(jobs: Mapping[str, Sequence[Measured]], options: argparse.Namespace) -> list[dict[str, str]]:
    """A row for each job."""
    scores = {name: seed_scores(draws, draws[0].metrics.shipped) for name, draws in jobs.items()}
    rows = []
    for name, draws in jobs.items():
        first = draws[0]
        row = {"job": name, "metric": first.metrics.metric, "score": spread(scores[name])}
        if options.baseline is not None:
            pairs = zip(scores[name], scores[options.baseline], strict=True)
            row[f"from {options.baseline}"] = "" if name == options.baseline else spread([a - b for a, b in pairs])
        row |= costs(TEACHER if options.teachers else first.metrics.shipped, draws, first.metrics.shipped_model)
        row |= {f"ms, {length} tokens": f"{value:.2f}" for length, value in first.milliseconds.items()}
        rows.append(row | (describe_step(first) if options.steps else {}))
    return rows


def seed_scores(draws: Sequence[Measured], model: str, metric: str | None = None) -> list[float]:
    """The points of a model in a metric, by default the deciding one, for each seed of each draw."""
    metrics = [draw.metrics for draw in draws]
    return [100 * score for draw in metrics for score in draw.models[model].metrics[metric or draw.metric].seeds]


def costs(name: str, draws: Sequence[Measured], model: MeasuredModel) -> dict[str, str]:
    """The minutes of the trainings of a seed, and size and time of a model."""
    seconds = [
        step.worked
        for draw in draws
        for step in draw.result.steps
        if step.name.split("-")[0] in TRAININGS.get(name, ())
    ]
    minutes = sum(seconds) / 60 / len(draws) / draws[0].tables.get("seeds", 1)
    figures = {"minutes": minutes or None, "MB": model.megabytes, "ms": model.milliseconds}
    return {key: "" if value is None else f"{value:.2f}" for key, value in figures.items()}


def describe_step(measured: Measured) -> dict[str, str]:
    """Time and memory of a step of the teacher's training, in its own process, and the size of the files to keep."""
    watched = watch("benchmarks.harness.job_steps", [json.dumps(measured.tables)])
    assert measured.teacher is not None, "a job with [teacher] trains no teacher"
    share = 100 * measured.teacher.manifest()["counts"].get("trained_share", 1.0)
    figures = {"ms a step": f"{watched.answer['ms']:.0f}", "peak MB": f"{watched.peak:.0f}"}
    # An adapter, or else the whole model.
    folder = measured.teacher.file("adapter")
    files = list(folder.iterdir()) if folder.is_dir() else [measured.teacher.file("model.keras")]
    kept = sum(file.stat().st_size for file in files) / 1e6
    return {"trained": f"{share:.2f} %", **figures, "MB to keep": f"{kept:.1f}"}


def spread(values: Sequence[float]) -> str:
    """Mean and sample standard deviation."""
    mean = f"{statistics.fmean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else f"{mean} (one seed)"


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Prints rows, column -> cell, as Markdown; a column without a cell is left out."""
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in keys if any(row.get(key) for row in rows)]
    print(f"| {' | '.join(columns)} |\n|---|{'---:|' * (len(columns) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row.get(column, '') for column in columns)} |")


if __name__ == "__main__":
    main()
