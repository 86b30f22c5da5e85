"""`explain`: shows why a model answers a text as it does, or compares the reasons of a job's models."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.arguments import absolute_path, add_overrides, add_root, open_store, read_overrides
from pipeline.commands.command import DONE, Command
from pipeline.explanation import explain_job
from pipeline.job.files import load_settings
from pipeline.job.rules import check_data
from pipeline.orchestrator.store import DATABASE
from pipeline.provenance.lineage import find_trained_model
from pipeline.report.files import report_written_after
from pipeline.views.agreement import show_agreements
from pipeline.views.explanation import explain_text, explanations_as_json, models_of, show_explanations, write_page
from pipeline.views.json_text import write_json
from pipeline.views.reports import check_output
from pipeline.views.terminal import Terminal, native_logs_hidden, write, write_warnings

_STEPS, _ROWS = 64, 100

# The options of one kind of MODEL, which the other kind would not read.
_OF_TEXTS = ("target", "method", "baseline", "steps", "beside", "out")
_OF_JOBS = ("rows", "set", "seeds")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        type=absolute_path,
        metavar="MODEL",
        help="a pushed version (with the trained model behind it, if --root made it), one of its model files, the "
        "folder of a trained model or of transformers; or a job (TOML file), whose teacher, student and file are "
        "compared on validation rows",
    )
    parser.add_argument("text", nargs="?", metavar="TEXT", help="a text, or a question; none for a job")
    parser.add_argument(
        "second", nargs="?", metavar="SECOND", help="the second text of a pair, or the context of a question"
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help="the number to explain: a label, WORD=TAG, start or end of an answer (default: the model's answer)",
    )
    parser.add_argument(
        "--method",
        choices=("integrated_gradients", "input_x_gradient", "occlusion"),
        metavar="METHOD",
        help="integrated_gradients, input_x_gradient, or occlusion, which alone explains files (default: the first; "
        "occlusion if a MODEL is a file)",
    )
    parser.add_argument(
        "--baseline",
        choices=("[PAD]", "[MASK]"),
        metavar="TOKEN",
        help="the token without information: [PAD], or [MASK] (default: [PAD]; for occlusion [MASK])",
    )
    parser.add_argument("--steps", type=int, metavar="N", help=f"steps of integrated gradients (default: {_STEPS})")
    parser.add_argument(
        "--beside",
        type=absolute_path,
        action="append",
        metavar="MODEL",
        help="another model that explains the same answer; may be repeated",
    )
    parser.add_argument(
        "--out", type=absolute_path, metavar="PAGE.html", help="write a page with the words, attention and rollout"
    )
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")
    parser.add_argument("--rows", type=int, metavar="N", help=f"of a job: validation rows (default: {_ROWS})")
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.model.suffix == ".toml":
        return _explain_job(options, console)
    if options.text is None:
        raise InputError("TEXT must follow MODEL, got none")
    _refuse_options(options, _OF_JOBS, "where TEXT is explained")
    if options.out is not None:
        check_output("--out", options.out)
    places = (options.model, *(options.beside or ()))
    models = [model for place in places for model in (*_trained_model(place, options.root), *models_of(place))]
    with native_logs_hidden():
        explanations = explain_text(
            models,
            options.text,
            options.second,
            target=options.target,
            method=options.method,
            baseline=options.baseline,
            steps=_STEPS if options.steps is None else options.steps,
        )
    if options.out is not None:
        write_page(explanations, options.out)
    if options.json:
        sys.stdout.write(write_json(explanations_as_json(explanations)) + "\n")
    else:
        show_explanations(explanations, console)
    return DONE


def _trained_model(place: Path, root: Path) -> list[Path]:
    """The trained model of a pushed version, which alone has attention; none if another root made it."""
    if not place.is_dir() or not (root / DATABASE).is_file():
        return []
    with open_store(root) as store:
        model = find_trained_model(store, root, place)
    return [] if model is None else [model]


def _explain_job(options: argparse.Namespace, console: Console) -> int:
    if options.text is not None:
        raise InputError(f"TEXT must be left out for a job, got {options.text!r}")
    _refuse_options(options, _OF_TEXTS, "for a job")
    errors = Console(stderr=True)
    progress = errors if options.json else console  # JSON stands alone
    settings = load_settings(options.model, read_overrides(options))
    rows = _ROWS if options.rows is None else options.rows
    write_warnings(progress, check_data(settings))
    observer = Terminal(progress)
    with report_written_after(options.root, observer, observer.say, lambda text: write(errors, f"warning: {text}")):
        report = explain_job(settings, rows, options.root, observer)
        if options.json:
            sys.stdout.write(json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n")
        else:
            show_agreements(report, console)
    return DONE


def _refuse_options(options: argparse.Namespace, names: Sequence[str], place: str) -> None:
    for name in names:
        value = getattr(options, name)
        if value is not None and value != []:
            raise InputError(f"--{name} must be left out {place}, got {value}")


EXPLAIN = Command(
    name="explain",
    purpose="show why a model answers a text as it does, or compare the reasons of a job's models",
    example='explain runs/pushed/reviews/1 "A film to remember." --out page.html',
    add_arguments=_add_arguments,
    run=_run,
)
