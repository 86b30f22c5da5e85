"""The command line: what each verb of `--help` does."""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from components.dsl.errors import InputError
from pipeline.arguments import make_parser
from pipeline.bench.files import Wanted, bench
from pipeline.bench.phone import bench_on_phone
from pipeline.comparison.budget import Budget
from pipeline.comparison.contenders import load_contenders
from pipeline.comparison.content import make_content
from pipeline.comparison.files import write_comparison
from pipeline.comparison.runs import Record, prepare, train
from pipeline.doctor import examine, write_diagnosis
from pipeline.ladder.files import write_ladder
from pipeline.ladder.rungs import climb, find_rungs
from pipeline.orchestrator.disk import is_disk_full
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import locked_root
from pipeline.orchestrator.runner import BrokenError, RunResult, run_pipeline
from pipeline.orchestrator.source_code import CodeError
from pipeline.orchestrator.store import Store
from pipeline.pipelines import whole
from pipeline.provenance.difference import find_difference
from pipeline.provenance.garbage import find_garbage, remove_garbage
from pipeline.provenance.lineage import find_lineage
from pipeline.provenance.prov import to_prov
from pipeline.provenance.why import find_reason
from pipeline.report.files import reported, write_page
from pipeline.settings.files import load_settings
from pipeline.settings.rules import check_data
from pipeline.settings.schema import Settings
from pipeline.shrink.files import write_search
from pipeline.shrink.limits import Limits, check_job
from pipeline.shrink.search import reasons_of, shrink
from pipeline.tracking.mlflow import send
from pipeline.views.answers import answer_lines, cut_lines
from pipeline.views.bench import show_bench
from pipeline.views.bench_on_phone import show_bench_on_phone
from pipeline.views.comparison import show_comparison
from pipeline.views.description import read_description, show_description
from pipeline.views.diagnosis import show_diagnosis
from pipeline.views.ladder import show_ladder
from pipeline.views.models import show_models
from pipeline.views.provenance import show_difference, show_garbage, show_lineage, show_preview, show_reason
from pipeline.views.shrink import show_search
from pipeline.views.statistics import read_statistics, show_statistics
from pipeline.views.terminal import Terminal, cells, format_seconds, format_time, open_console, write

DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: see the epilog of `--help`."""
    options = make_parser(_COMMANDS).parse_args(arguments)
    console = open_console()
    try:
        return int(options.command(options, console))
    except (InputError, CodeError, BrokenError) as error:
        write(Console(stderr=True), f"error: {error}")
        return BAD_INPUT if isinstance(error, InputError) else FAILED
    except OSError as error:
        # Tables and pictures are written where no step is that would tell of it.
        if not is_disk_full(error):
            raise
        write(Console(stderr=True), f"error: the disk must have space left, got {error}; make room, then go on")
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


def _overrides(options: argparse.Namespace) -> list[str]:
    return [*options.set, *([] if options.seeds is None else [f"seeds={options.seeds}"])]


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, _overrides(options))
    check_data(settings)
    pipeline = whole(settings, options.root)
    request = Request(to=options.to, since=options.since, force=tuple(options.force))
    if options.dry_run:
        show_preview(preview(pipeline, options.root, request), console)
        return DONE
    with reported(
        options.root, lambda text: write(console, text), lambda text: write(Console(stderr=True), f"warning: {text}")
    ):
        return _run_and_show(settings, pipeline, request, options, console)


def _run_and_show(
    settings: Settings, pipeline: Pipeline, request: Request, options: argparse.Namespace, console: Console
) -> int:
    observer = Terminal(console)
    result = run_pipeline(pipeline, options.root, request=request, observer=observer, **settings.run_options())
    measured = _read_metrics(result)
    if measured is not None:
        show_models(measured, console)
    if result.state != "done":
        write(Console(stderr=True), f"error: {result.message}")
        return REFUSED if result.state == "refused" else FAILED
    if options.to is not None:
        for name, output in result.step(options.to).outputs.items():
            write(console, f"{name}: {output.path}")
    elif settings.examples is None:
        write(console, f"pre-trained: {result.step('pretrain').outputs['model'].path}")
    else:
        pushed = json.loads(result.step("push").outputs["pushed"].file("pushed.json").read_text())
        write(console, f"pushed: {pushed['path']}")
    return DONE


def _compare(options: argparse.Namespace, console: Console) -> int:
    budget = Budget.of(options.flops, options.minutes)
    named = [] if options.name is None else [f"name={json.dumps(options.name)}"]
    contenders = load_contenders(options.settings, options.task, [*_overrides(options), *named], budget)
    name = contenders[0].start.name
    observer, records = Terminal(console), dict[str, Record]()
    try:
        for variant, record in train(prepare(contenders, budget, options.root, observer), options.root, observer):
            records[variant] = record
    finally:
        if records:
            # What is done is shown, whatever became of the rest.
            content = make_content(name, contenders, budget, records)
            show_comparison(content, console)
            for file in write_comparison(content, options.root / "compared" / name):
                write(console, f"written: {file}")
    return DONE


def _ladder(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, _overrides(options))
    rungs = find_rungs(settings)
    check_data(settings)
    content = climb(settings, rungs, options.root, Terminal(console))
    show_ladder(content, console)
    for file in write_ladder(content, options.root / "ladders" / settings.name):
        write(console, f"written: {file}")
    return DONE


def _doctor(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, _overrides(options))
    check_data(settings)
    content = examine(settings, options.fix, options.root, Terminal(console))
    show_diagnosis(content, console)
    for file in write_diagnosis(content, options.root / "diagnosed" / settings.name):
        write(console, f"written: {file}")
    return DONE


def _shrink(options: argparse.Namespace, console: Console) -> int:
    limits = Limits.of(options.max_megabytes, options.max_milliseconds, options.min_share, options.minutes)
    settings = load_settings(options.settings, _overrides(options))
    check_job(settings)
    check_data(settings)
    content = shrink(settings, limits, options.root, Terminal(console))
    show_search(content, console)
    for file in write_search(content, options.root / "shrunk" / settings.name):
        write(console, f"written: {file}")
    for reason in reasons_of(content):
        write(Console(stderr=True), f"error: {reason}")
    if not content["pushed"]:
        return REFUSED
    write(console, f"pushed: {content['pushed']}")
    return DONE


def _read_metrics(result: RunResult) -> dict[str, Any] | None:
    """What was measured, if the run came that far."""
    steps = [step for step in result.steps if step.name == "evaluate" and step.outputs]
    if not steps:
        return None
    metrics: dict[str, Any] = json.loads(steps[0].outputs["evaluation"].file("metrics.json").read_text())
    return metrics


def _why(options: argparse.Namespace, console: Console) -> int:
    with _opened(options.root) as store:
        show_reason(find_reason(store, options.step, options.run), console)
    return DONE


def _lineage(options: argparse.Namespace, console: Console) -> int:
    with _opened(options.root) as store:
        lineage = find_lineage(store, options.root, options.file)
    if options.json:
        sys.stdout.write(json.dumps(to_prov(lineage), indent=1, ensure_ascii=False) + "\n")
    else:
        show_lineage(lineage, console)
    return DONE


def _diff(options: argparse.Namespace, console: Console) -> int:
    with _opened(options.root) as store:
        difference = find_difference(store, options.root, options.one, options.other)
    show_difference(difference, options.one, options.other, console)
    return DONE


def _gc(options: argparse.Namespace, console: Console) -> int:
    if options.keep < 1:
        raise InputError(f"--keep must be at least 1, got {options.keep}")
    with _opened(options.root) as store, locked_root(options.root):
        garbage = find_garbage(store, options.root, options.keep)
        if not options.dry_run:
            remove_garbage(store, options.root, garbage)
    show_garbage(garbage, console, is_removed=not options.dry_run)
    return DONE


@contextlib.contextmanager
def _opened(root: Path) -> Iterator[Store]:
    """The store of a root that a run has made."""
    if not root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {root}")
    with contextlib.closing(Store(root, create=False)) as store:
        yield store


def _status(options: argparse.Namespace, console: Console) -> int:
    with _opened(options.root) as store:
        runs = Table("run", "pipeline", "state", "started", "took", title="runs", title_justify="left")
        for run in store.runs():
            took = "" if run.ended is None else format_seconds(run.ended - run.started)
            runs.add_row(*cells(str(run.id), run.pipeline, run.state, format_time(run.started), took))
        artifacts = Table("run", "type", "fingerprint", title="artifacts", title_justify="left")
        artifacts.add_column("path", overflow="fold")
        for made in store.artifacts():
            path = made.artifact.path or "(replaced)"
            artifacts.add_row(*cells(str(made.run), made.artifact.type, made.artifact.fingerprint[:12], path))
    console.print(runs)
    console.print(artifacts)
    return DONE


def _report(options: argparse.Namespace, console: Console) -> int:
    write(console, f"report: {write_page(options.root, options.run, options.out)}")
    if options.mlflow is not None:
        sent = send(options.root, options.run, options.mlflow)
        told = f"is there already, as run {sent.id}" if sent.is_known else f"run {sent.id}"
        write(console, f"sent to {options.mlflow}: {told}")
    return DONE


def _inspect(options: argparse.Namespace, console: Console) -> int:
    show_statistics(read_statistics(options.folder), console)
    return DONE


def _describe(options: argparse.Namespace, console: Console) -> int:
    content = read_description(options.file)
    if options.json:
        sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    else:
        show_description(content, console)
    return DONE


def _bench(options: argparse.Namespace, console: Console) -> int:
    if not options.files:
        raise InputError("bench must be given at least one FILE, got none")
    if options.json is not None and not options.json.parent.is_dir():
        raise InputError(f"--json must be in a folder that exists, got {options.json}")
    measure, show = (bench_on_phone, show_bench_on_phone) if options.adb else (bench, show_bench)
    lengths, threads = (tuple(dict.fromkeys(values)) for values in (options.lengths, options.threads))
    content = measure(
        options.files,
        Wanted(
            lengths=lengths,
            threads=threads,
            answers=options.answers,
            operations=options.operations,
            here=not options.adb,
        ),
    )
    show(content, console)
    if options.json is not None:
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return DONE


def _predict(options: argparse.Namespace, _: Console) -> int:
    try:
        with _native_logs_hidden():
            from keras_bert.export.bundle import load_exported

            task = load_exported(options.folder)
            lines = list(answer_lines(task, options.texts, options.second))
            cuts = list(cut_lines(task, options.texts, options.second))
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from None
    for line in cuts:
        write(Console(stderr=True), line)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return DONE


@contextlib.contextmanager
def _native_logs_hidden() -> Iterator[None]:
    """Keeps the C++ libraries' start-up notes, which no setting silences, off a person's terminal."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


_COMMANDS = {
    "run": _run,
    "compare": _compare,
    "ladder": _ladder,
    "doctor": _doctor,
    "shrink": _shrink,
    "status": _status,
    "why": _why,
    "lineage": _lineage,
    "diff": _diff,
    "gc": _gc,
    "report": _report,
    "inspect": _inspect,
    "describe": _describe,
    "bench": _bench,
    "predict": _predict,
}
