"""`explain`: shows why a model answers a text as it does, or compares the reasons of a job's models."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import click
from rich.console import Console

from components.dsl.artifact import as_plain
from components.dsl.errors import InputError
from pipeline.commands.command import (
    DONE,
    OutputPath,
    PathOrAddress,
    Verb,
    job_options,
    json_option,
    load_job,
    open_store,
    refuse_options,
)

_STEPS, _ROWS = 64, 100

# The options of one kind of MODEL, which the other kind would not read.
_TEXT_OPTIONS = ("task", "target", "method", "baseline", "steps", "compare_with", "out")
_JOB_OPTIONS = ("rows", "set", "seeds")


@click.command(
    cls=Verb, goal="Use a model", example='explain runs/pushed/reviews/1 "A film to remember." --out page.html'
)
@click.argument(
    "model",
    type=PathOrAddress(),
    metavar="MODEL",
    help="A pushed version (with the trained model behind it, if --root made it), one of its model files, the folder "
    "of a trained model or of transformers; or a job (TOML file), whose teacher, student and file are compared "
    "on validation rows.",
)
@click.argument("text", required=False, metavar="[TEXT]", help="A text, or a question; none for a job.")
@click.argument(
    "second", required=False, metavar="[SECOND]", help="The second text of a pair, or the context of a question."
)
@click.option("--task", metavar="NAME", help="Of a model of several tasks: the one whose answer is explained.")
@click.option(
    "--target",
    metavar="NAME",
    help="The number to explain: a label, WORD=TAG, start or end of an answer. Default: the model's answer.",
)
@click.option(
    "--method",
    type=click.Choice(("integrated_gradients", "input_x_gradient", "occlusion")),
    metavar="METHOD",
    help="integrated_gradients, input_x_gradient, or occlusion, which alone explains files. Default: the first; "
    "occlusion if a MODEL is a file.",
)
@click.option(
    "--baseline",
    type=click.Choice(("[PAD]", "[MASK]")),
    metavar="TOKEN",
    help="The token without information: [PAD], or [MASK]. Default: [PAD]; for occlusion [MASK].",
)
@click.option("--steps", type=int, metavar="N", help=f"Steps of integrated gradients. Default: {_STEPS}.")
@click.option(
    "--compare-with",
    type=PathOrAddress(),
    multiple=True,
    metavar="MODEL",
    help="Another model that explains the same answer; may be repeated.",
)
@click.option(
    "--out", type=OutputPath(), metavar="PAGE.html", help="Write a page with the words, attention and rollout."
)
@json_option
@click.option("--rows", type=int, metavar="N", help=f"Of a job: validation rows. Default: {_ROWS}.")
@job_options
def explain_command(options: SimpleNamespace, console: Console) -> int:
    """Show why a model answers a text as it does.

    For a job it compares the reasons of the job's models on validation rows.
    """
    from pipeline.views.reports import check_output
    from pipeline.views.terminal import native_logs_hidden
    from plugins.explain.json_text import write_json
    from plugins.explain.model_reasons import (
        explain_text,
        explanations_as_json,
        models_of,
        show_explanations,
        write_page,
    )

    if options.model.suffix == ".toml":
        return _explain_job(options, console)
    if options.text is None:
        raise InputError("TEXT must follow MODEL, got none")
    refuse_options(options, _JOB_OPTIONS, "where TEXT is explained")
    if options.out is not None:
        check_output(options.out)
    paths = (options.model, *options.compare_with)
    models = [model for path in paths for model in (*_trained_model(path, options.root), *models_of(path))]
    with native_logs_hidden():
        explanations = explain_text(
            models,
            options.text,
            options.second,
            target=options.target,
            method=options.method,
            baseline=options.baseline,
            steps=_STEPS if options.steps is None else options.steps,
            part=options.task,
        )
    if options.out is not None:
        write_page(explanations, options.out)
    if options.json:
        sys.stdout.write(write_json(explanations_as_json(explanations)) + "\n")
    else:
        show_explanations(explanations, console)
    return DONE


def _trained_model(version: Path, root: Path) -> list[Path]:
    """The trained model of a pushed version, since files have no attention.

    None if the version was made in another root, or the model was removed.
    """
    from components.artifacts.standard import EdgeModel, Model
    from components.sources.pushed_version import edge_of
    from pipeline.orchestrator.root_store import DATABASE

    if not version.is_dir() or not (root / DATABASE).is_file():
        return []
    exported = EdgeModel.__name__, edge_of(version)
    with open_store(root) as store:
        for published in store.artifacts():
            if (published.artifact.type, published.artifact.fingerprint) == exported:
                inputs = store.artifacts_of(store.maker_of(published.artifact.id).id, "input")
                models = (root / str(model.path) for model in inputs.values() if model.type == Model.__name__)
                return [folder for folder in models if folder.is_dir()][:1]
    return []


def _explain_job(options: SimpleNamespace, console: Console) -> int:
    from pipeline.capabilities import is_joint
    from pipeline.orchestrator.runner import run_to_end
    from pipeline.report.page import report_written_after
    from pipeline.views.terminal import Terminal, write
    from plugins.explain.tables import agreement_tables
    from plugins.explain.wiring import check_explainable, explanation_pipeline

    if options.text is not None:
        raise InputError(f"TEXT must be left out for a job, got {options.text!r}")
    refuse_options(options, _TEXT_OPTIONS, "for a job")
    errors = Console(stderr=True)
    progress = errors if options.json else console  # only JSON on standard output
    settings = load_job(options.model, options, progress)
    rows = _ROWS if options.rows is None else options.rows
    observer = Terminal(progress)
    with report_written_after(options.root, observer, observer.say, lambda text: write(errors, f"warning: {text}")):
        if is_joint(settings):
            raise InputError(
                "there must be [examples] to explain, got a job of several tasks; give each a job of its own, or "
                "explain a text by the pushed folder and --task"
            )
        if settings.examples is None:
            raise InputError("there must be [examples] to explain")
        if rows < 1:
            raise InputError(f"--rows must be at least 1, got {rows}")
        check_explainable(settings)
        pipeline, explanation = explanation_pipeline(settings, rows)
        pipeline.name += "/explain"
        result = run_to_end(pipeline, options.root, observer=observer, **settings.run_options())
        report = result.artifact(explanation).read()
        if options.json:
            sys.stdout.write(json.dumps(as_plain(report), indent=1, ensure_ascii=False) + "\n")
        else:
            for table in agreement_tables(report):
                table.show(console)
    return DONE
