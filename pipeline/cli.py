"""The command line: `run`, `compare`, `ladder`, `doctor`, `shrink`, `status`, `inspect`, `describe` and `predict`."""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from components.dsl.errors import InputError
from pipeline.comparison.budget import Budget
from pipeline.comparison.contenders import TASK_KEYS, load_contenders
from pipeline.comparison.content import make_content
from pipeline.comparison.files import write_comparison
from pipeline.comparison.runs import Record, prepare, train
from pipeline.doctor import examine, write_diagnosis
from pipeline.ladder.files import write_ladder
from pipeline.ladder.rungs import climb, find_rungs
from pipeline.orchestrator.runner import BrokenError, RunResult, run_pipeline
from pipeline.orchestrator.source_code import CodeError
from pipeline.orchestrator.store import Store
from pipeline.pipelines import whole
from pipeline.settings.files import load_settings
from pipeline.settings.rules import check_data
from pipeline.shrink.files import write_search
from pipeline.shrink.limits import Limits, check_job
from pipeline.shrink.search import reasons_of, shrink
from pipeline.views.answers import answer_lines, cut_lines
from pipeline.views.comparison import show_comparison
from pipeline.views.description import read_description, show_description
from pipeline.views.diagnosis import show_diagnosis
from pipeline.views.ladder import show_ladder
from pipeline.views.models import show_models
from pipeline.views.shrink import show_search
from pipeline.views.statistics import read_statistics, show_statistics
from pipeline.views.terminal import Terminal, cells, format_seconds, open_console, write

PROGRAM = "keras-bert-edge"

DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: see the epilog of `--help`."""
    options = _make_parser().parse_args(arguments)
    console = open_console()
    try:
        return int(options.command(options, console))
    except (InputError, CodeError) as error:
        write(Console(stderr=True), f"error: {error}")
        return BAD_INPUT if isinstance(error, InputError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="From text, or a checkpoint, to a small, fast, measured BERT on a device.",
        epilog="exit status: 0 done, 1 a step failed, 2 bad input, 3 the model was not blessed, or a limit cannot be "
        "met, 130 interrupted",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, purpose: str, example: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=purpose, description=purpose, epilog=f"example: {PROGRAM} {example}")

    run = add("run", "run the pipeline; what is finished and unchanged is not run again", "run reviews.toml --seeds 3")
    run.add_argument("settings", nargs="?", type=_path, help="a TOML file; the default job without it")
    run.set_defaults(command=_run)
    compare = add(
        "compare",
        "train variants under one budget, and measure them on the same tasks over seeds, without students or files",
        "compare base.toml spans.toml --flops 2e14 --task sst2.toml --task wnut17.toml --seeds 3",
    )
    compare.add_argument("settings", nargs="+", type=_path, help="a TOML file for each variant, the baseline first")
    compare.add_argument(
        "--task",
        action="append",
        default=[],
        type=_path,
        metavar="FILE",
        help=f"a TOML file that is laid over each variant: {', '.join(TASK_KEYS)}; else their own [examples]",
    )
    compare.add_argument("--flops", type=float, metavar="N", help="what each variant may spend on pre-training")
    compare.add_argument(
        "--minutes", type=float, metavar="N", help="the same as time on this machine, measured once before"
    )
    compare.add_argument("--name", help="files go to ROOT/compared/NAME (default: the baseline's name)")
    compare.set_defaults(command=_compare)
    ladder = add(
        "ladder",
        "measure what student, pruning and quantization of a job cost, alone and on top of one another",
        "ladder reviews.toml --seeds 3",
    )
    ladder.add_argument("settings", type=_path, help="a TOML file with one or more of these tables")
    ladder.set_defaults(command=_ladder)
    doctor = add(
        "doctor",
        "tell which layers of a job's model rounding hurts, and what leaving them float gains and costs",
        "doctor reviews.toml --fix 0.3",
    )
    doctor.add_argument("settings", type=_path, help="a TOML file with a [quantization]")
    doctor.add_argument(
        "--fix", type=float, metavar="POINTS", help="find the fewest layers to leave float, so that it costs no more"
    )
    doctor.set_defaults(command=_doctor)
    small = add(
        "shrink",
        "find the best small model of a job within limits of size and time, and push it; a search that was stopped "
        "goes on when the same command is typed again",
        "shrink reviews.toml --max-megabytes 3 --max-milliseconds 2 --min-share 0.96 --minutes 60",
    )
    small.add_argument("settings", type=_path, help="a TOML file with [examples]")
    small.add_argument("--max-megabytes", type=float, metavar="N", help="of model.tflite, 10^6 bytes each")
    small.add_argument(
        "--max-milliseconds",
        type=float,
        metavar="N",
        help="for a text of max_length tokens, on one thread of this machine",
    )
    small.add_argument(
        "--min-share",
        type=float,
        default=0.95,
        metavar="N",
        help="share of the teacher's validation score to keep (default: 0.95)",
    )
    small.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        metavar="N",
        help="for the search (default: 60); the teacher's own training, which a run shares, is not counted",
    )
    small.set_defaults(command=_shrink)
    for command in (run, compare, ladder, doctor, small):
        command.add_argument("--seeds", type=int, metavar="N", help="how many seeds (short for --set seeds=N)")
        command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting")
    status = add("status", "show runs and artifacts", "status --root runs")
    status.set_defaults(command=_status)
    for command in (run, compare, ladder, doctor, small, status):
        command.add_argument("--root", type=_path, default="runs", help="where artifacts live (default: runs)")
    inspect = add(
        "inspect", "show the statistics of an artifact", "inspect runs/artifacts/ingest_corpus/corpus-0123456789ab"
    )
    inspect.add_argument("folder", type=_path, help="an artifact, such as runs/artifacts/mask_examples/examples-...")
    inspect.set_defaults(command=_inspect)
    describe = add(
        "describe", "show what a model's file says of itself", "describe runs/pushed/reviews/1/model.tflite --json"
    )
    describe.add_argument("file", type=_path, help="a .tflite or .onnx file of a pushed version")
    describe.add_argument("--json", action="store_true", help="all that it says, as JSON")
    describe.set_defaults(command=_describe)
    predict = add("predict", "ask a pushed model", 'predict runs/pushed/reviews/1 "A film to remember."')
    predict.add_argument("folder", type=_path, help="a pushed version, such as runs/pushed/reviews/1, or a file of one")
    predict.add_argument("texts", nargs="+", metavar="TEXT", help="a text, or a question")
    predict.add_argument(
        "--second",
        action="append",
        metavar="TEXT",
        help="a pair's second text, or a question's context",
    )
    predict.set_defaults(command=_predict)
    return parser


def _path(text: str) -> Path:
    """A path as the user means it, whatever the working directory is later."""
    return Path(text).expanduser().absolute()


def _overrides(options: argparse.Namespace) -> list[str]:
    return [*options.set, *([] if options.seeds is None else [f"seeds={options.seeds}"])]


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, _overrides(options))
    check_data(settings)
    result = run_pipeline(whole(settings, options.root), options.root, observer=Terminal(console))
    measured = _read_metrics(result)
    if measured is not None:
        show_models(measured, console)
    if result.state != "done":
        write(Console(stderr=True), f"error: {result.message}")
        return REFUSED if result.state == "refused" else FAILED
    if settings.examples is None:
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
    except BrokenError as error:
        write(Console(stderr=True), f"error: {error}")
        return FAILED
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
    try:
        content = climb(settings, rungs, options.root, Terminal(console))
    except BrokenError as error:
        write(Console(stderr=True), f"error: {error}")
        return FAILED
    show_ladder(content, console)
    for file in write_ladder(content, options.root / "ladders" / settings.name):
        write(console, f"written: {file}")
    return DONE


def _doctor(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, _overrides(options))
    check_data(settings)
    try:
        content = examine(settings, options.fix, options.root, Terminal(console))
    except BrokenError as error:
        write(Console(stderr=True), f"error: {error}")
        return FAILED
    show_diagnosis(content, console)
    for file in write_diagnosis(content, options.root / "diagnosed" / settings.name):
        write(console, f"written: {file}")
    return DONE


def _shrink(options: argparse.Namespace, console: Console) -> int:
    limits = Limits.of(options.max_megabytes, options.max_milliseconds, options.min_share, options.minutes)
    settings = load_settings(options.settings, _overrides(options))
    check_job(settings)
    check_data(settings)
    try:
        content = shrink(settings, limits, options.root, Terminal(console))
    except BrokenError as error:
        write(Console(stderr=True), f"error: {error}")
        return FAILED
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


def _status(options: argparse.Namespace, console: Console) -> int:
    if not options.root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {options.root}")
    with contextlib.closing(Store(options.root, create=False)) as store:
        runs = Table("run", "pipeline", "state", "started", "took", title="runs", title_justify="left")
        for run in store.runs():
            took = "" if run.ended is None else format_seconds(run.ended - run.started)
            runs.add_row(*cells(str(run.id), run.pipeline, run.state, _format_time(run.started), took))
        artifacts = Table("run", "type", "fingerprint", title="artifacts", title_justify="left")
        artifacts.add_column("path", overflow="fold")
        for made in store.artifacts():
            path = made.artifact.path or "(replaced)"
            artifacts.add_row(*cells(str(made.run), made.artifact.type, made.artifact.fingerprint[:12], path))
    console.print(runs)
    console.print(artifacts)
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


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


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
