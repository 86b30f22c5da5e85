"""The command line: `run`, `fine-tune`, `status`, `inspect` and `predict`."""

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

from components.base import InputError
from components.checkpoints import Checkpoint
from pipeline.fine_tuning_settings import FineTuningSettings, load_fine_tuning
from pipeline.fine_tuning_table import Outcome, read_outcome, show_outcomes
from pipeline.fingerprint import FingerprintError
from pipeline.pipelines import compression, fine_tuning
from pipeline.runner import RunResult, run_pipeline
from pipeline.settings import Settings, load_settings
from pipeline.statistics_view import read_statistics, show_statistics
from pipeline.store import Store
from pipeline.terminal import format_seconds, write

DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: see the epilog of `--help`."""
    options = _make_parser().parse_args(arguments)
    console = Console()
    try:
        return int(options.command(options, console))
    except (InputError, FingerprintError) as error:
        write(Console(stderr=True), f"error: {error}")
        return BAD_INPUT if isinstance(error, InputError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline",
        description="From text to a small, fast, measured BERT classifier.",
        epilog="exit status: 0 done, 1 a step failed, 2 bad input, 3 the model was not blessed, 130 interrupted",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the pipeline; what is finished and unchanged is not run again")
    run.add_argument("settings", nargs="?", type=_path, help="a TOML file; the default job without it")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting")
    run.set_defaults(command=_run)
    tune = commands.add_parser("fine-tune", help="fine-tune a checkpoint over several seeds, on one task or on many")
    tune.add_argument("settings", nargs="+", type=_path, help="a TOML file for each task")
    tune.add_argument("--seeds", type=int, metavar="N", help="how many seeds (short for --set seeds=N)")
    tune.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting of all files"
    )
    tune.set_defaults(command=_fine_tune)
    status = commands.add_parser("status", help="show runs and artifacts")
    status.set_defaults(command=_status)
    for command in (run, tune, status):
        command.add_argument("--root", type=_path, default="runs", help="where artifacts live (default: runs)")
    inspect = commands.add_parser("inspect", help="show the statistics of an artifact")
    inspect.add_argument("folder", type=_path, help="an artifact, such as runs/artifacts/mask_examples/examples-...")
    inspect.set_defaults(command=_inspect)
    predict = commands.add_parser("predict", help="ask a pushed model")
    predict.add_argument("folder", type=_path, help="a pushed version, such as runs/pushed/docstrings/1")
    predict.add_argument("texts", nargs="+", metavar="TEXT")
    predict.add_argument("--second", action="append", metavar="TEXT", help="the second text of each pair")
    predict.set_defaults(command=_predict)
    return parser


def _path(text: str) -> Path:
    """A path as the user means it, whatever the working directory is later."""
    return Path(text).expanduser().absolute()


def _run(options: argparse.Namespace, console: Console) -> int:
    settings = load_settings(options.settings, options.set)
    _check_sources(settings)
    result = run_pipeline(compression(settings, options.root), options.root, console=console)
    _show_models(result, console)
    if result.state == "done":
        pushed = json.loads(result.step("push").outputs["pushed"].file("pushed.json").read_text())
        write(console, f"pushed: {pushed['path']}")
        return DONE
    write(Console(stderr=True), f"error: {result.message}")
    return REFUSED if result.state == "refused" else FAILED


def _fine_tune(options: argparse.Namespace, console: Console) -> int:
    overrides = [*options.set, *([] if options.seeds is None else [f"seeds={options.seeds}"])]
    tasks: dict[Path, FineTuningSettings] = {}
    # All files before the first training: a slip in the last one shows at once.
    for path in options.settings:
        with _errors_named(path, options.settings):
            tasks[path] = load_fine_tuning(path, overrides)
            Checkpoint(tasks[path].checkpoint).check()
            tasks[path].examples.check()
    outcomes: list[Outcome] = []
    try:
        for path, settings in tasks.items():
            with _errors_named(path, options.settings):
                result = run_pipeline(fine_tuning(settings), options.root, console=console)
            if result.state != "done":
                write(Console(stderr=True), f"error: {result.message}")
                return FAILED
            outcomes.append(read_outcome(path.stem, result))
    finally:
        show_outcomes(outcomes, len(tasks), console)
    return DONE


@contextlib.contextmanager
def _errors_named(path: Path, among: Sequence[Path]) -> Iterator[None]:
    """Where there are several settings files, an error says in which it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path.name}: {error}" if len(among) > 1 else str(error)) from None


def _check_sources(settings: Settings) -> None:
    """Looks at the user's data before anything starts."""
    settings.corpus.check()
    settings.examples.check()


def _show_models(result: RunResult, console: Console) -> None:
    """The table of what was measured, if the run came that far."""
    measured = result.step("evaluate").outputs
    if not measured:
        return
    metrics = json.loads(measured["evaluation"].file("metrics.json").read_text())
    table = Table("model")
    for heading in ("accuracy", "macro F1", "MB", "ms"):
        table.add_column(heading, justify="right")
    for name, row in metrics["models"].items():
        table.add_row(name, *_cells(row))
    console.print(table)
    write(console, f"on {metrics['test_rows']} test rows; ms: the median for one passage on one thread")


def _cells(row: dict[str, Any]) -> list[str]:
    sizes = [f"{row[key]:.2f}" if key in row else "" for key in ("megabytes", "milliseconds")]
    return [f"{100 * row['accuracy']:.2f}", f"{row['macro_f1']:.4f}", *sizes]


def _status(options: argparse.Namespace, console: Console) -> int:
    if not options.root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {options.root}")
    with contextlib.closing(Store(options.root, create=False)) as store:
        runs = Table("run", "pipeline", "state", "started", "took", title="runs", title_justify="left")
        for run in store.runs():
            took = "" if run.ended is None else format_seconds(run.ended - run.started)
            runs.add_row(str(run.id), run.pipeline, run.state, _format_time(run.started), took)
        artifacts = Table("run", "type", "fingerprint", title="artifacts", title_justify="left")
        artifacts.add_column("path", overflow="fold")
        for made in store.artifacts():
            path = made.artifact.path or "(replaced)"
            artifacts.add_row(str(made.run), made.artifact.type, made.artifact.fingerprint[:12], path)
    console.print(runs)
    console.print(artifacts)
    return DONE


def _inspect(options: argparse.Namespace, console: Console) -> int:
    show_statistics(read_statistics(options.folder), console)
    return DONE


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _predict(options: argparse.Namespace, _: Console) -> int:
    try:
        with _native_logs_hidden():
            from keras_bert.export.bundle import Bundle

            bundle = Bundle(options.folder)
            predictions = bundle.predict(options.texts, options.second)
            lengths, most = bundle.count_tokens(options.texts, options.second), bundle.classifier.max_length
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from None
    errors = Console(stderr=True)
    for number, length in enumerate(lengths, start=1):
        if length > most:
            write(errors, f"text {number}: {length - most} of {length} tokens were cut, the model reads {most}")
    for text, prediction in zip(options.texts, predictions, strict=True):
        sys.stdout.write(f"{prediction.label}\t{prediction.probability:.4f}\t{text}\n")
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
