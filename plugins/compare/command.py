"""`compare`: trains variants of a job under one budget, or each stage of its compression alone and combined."""

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, PathOrAddress, Verb, job_options, load_job, read_overrides, refuse_options

if TYPE_CHECKING:
    from plugins.compare.runs import Record


@click.command(
    cls=Verb,
    goal="Choose settings",
    example="compare base.toml spans.toml --flops 2e14 --task sst2.toml --task ner.toml --seeds 3",
)
@click.argument(
    "settings",
    metavar="JOB...",
    nargs=-1,
    required=True,
    type=PathOrAddress(),
    help="A job (TOML file) per variant, the baseline first; with --stages one job.",
)
@click.option(
    "--stages",
    is_flag=True,
    help="Measure instead what [student], [pruning] and [quantization] of one job cost, alone and combined.",
)
@click.option(
    "--task",
    multiple=True,
    type=PathOrAddress(),
    metavar="FILE",
    help="A TOML file whose settings replace those of each variant: [examples], fine_tuning, evaluation, pooling, "
    "normalize and lengths; may be repeated. Default: each variant's [examples].",
)
@click.option(
    "--flops",
    type=float,
    metavar="N",
    help="Floating-point operations that each variant may spend on pre-training.",
)
@click.option(
    "--minutes", type=float, metavar="N", help="The budget as minutes on this machine, whose speed is measured first."
)
@click.option("--name", help="The results are written to ROOT/compared/NAME. Default: the baseline's name.")
@job_options
def compare_command(options: SimpleNamespace, console: Console) -> int:
    """Train variants of a job under one budget; compare their scores.

    All variants are scored on the same tasks and seeds. No students are trained, no model files are written.
    """
    from pipeline.views.reports import write_report
    from pipeline.views.terminal import Terminal, write
    from plugins.compare.budget import Budget
    from plugins.compare.content import make_content
    from plugins.compare.loss_plot import draw_losses
    from plugins.compare.runs import prepare, train
    from plugins.compare.tables import comparison_table
    from plugins.compare.variants import load_variants

    if options.stages:
        refuse_options(options, ["task", "flops", "minutes", "name"], "with --stages")
        return _compare_stages(options, console)
    budget = Budget.of(options.flops, options.minutes)
    named = [] if options.name is None else [f"name={json.dumps(options.name)}"]
    variants = load_variants(options.settings, options.task, [*read_overrides(options), *named], budget)
    name = variants[0].start.name
    observer, records = Terminal(console), dict[str, "Record"]()
    try:
        for variant, record in train(prepare(variants, budget, options.root, observer), options.root, observer):
            records[variant] = record
    finally:
        if records:
            # Finished trainings are shown even if a later one fails.
            content = make_content(name, variants, budget, records)
            table, folder = comparison_table(content), options.root / "compared" / name
            table.show(console)
            for file in write_report("comparison", content, folder, table.as_markdown(), draw_losses):
                write(console, f"written: {file}")
    return DONE


def _compare_stages(options: SimpleNamespace, console: Console) -> int:
    from pipeline.views.pareto_plot import draw_front
    from pipeline.views.reports import write_report
    from pipeline.views.terminal import Terminal, write
    from plugins.compare.ladder import find_rungs, run_ladder
    from plugins.compare.tables import ladder_table

    if len(options.settings) > 1:
        raise InputError(f"JOB must be one job with --stages, got {len(options.settings)}")
    settings = load_job(options.settings[0], options, console)
    content = run_ladder(settings, find_rungs(settings), options.root, Terminal(console))
    table, folder = ladder_table(content), options.root / "ladders" / settings.name
    table.show(console)
    for file in write_report("ladder", content, folder, table.as_markdown(), draw_front):
        write(console, f"written: {file}")
    return DONE
