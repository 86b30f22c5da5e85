"""`compare`: trains variants of a job under one budget."""

import argparse
import json

from rich.console import Console

from pipeline.commands.arguments import absolute_path, add_overrides, add_root, read_overrides
from pipeline.commands.command import DONE, Command
from pipeline.comparison.budget import Budget
from pipeline.comparison.content import make_content
from pipeline.comparison.files import write_comparison
from pipeline.comparison.runs import Record, prepare, train
from pipeline.comparison.variants import TASK_KEYS, load_variants
from pipeline.views.comparison import show_comparison
from pipeline.views.terminal import Terminal, write


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "settings",
        metavar="JOB",
        nargs="+",
        type=absolute_path,
        help="a job (TOML file) per variant, the baseline first",
    )
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        type=absolute_path,
        metavar="FILE",
        help=f"a TOML file whose settings replace those of each variant ({', '.join(TASK_KEYS)}); may be repeated "
        "(default: each variant's [examples])",
    )
    parser.add_argument(
        "--flops", type=float, metavar="N", help="floating-point operations that each variant may spend on pre-training"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="the budget as minutes on this machine, whose speed is measured first",
    )
    parser.add_argument("--name", help="the results are written to ROOT/compared/NAME (default: the baseline's name)")
    add_overrides(parser)
    add_root(parser)


def _run(options: argparse.Namespace, console: Console) -> int:
    budget = Budget.of(options.flops, options.minutes)
    named = [] if options.name is None else [f"name={json.dumps(options.name)}"]
    variants = load_variants(options.settings, options.task, [*read_overrides(options), *named], budget)
    name = variants[0].start.name
    observer, records = Terminal(console), dict[str, Record]()
    try:
        for variant, record in train(prepare(variants, budget, options.root, observer), options.root, observer):
            records[variant] = record
    finally:
        if records:
            # Finished trainings are shown even if a later one fails.
            content = make_content(name, variants, budget, records)
            show_comparison(content, console)
            for file in write_comparison(content, options.root / "compared" / name):
                write(console, f"written: {file}")
    return DONE


COMPARE = Command(
    name="compare",
    purpose="train variants of a job under one budget, and compare their scores",
    details="All variants are scored on the same tasks and seeds. No students are trained, no model files are written.",
    example="compare base.toml spans.toml --flops 2e14 --task sst2.toml --task wnut17.toml --seeds 3",
    add_arguments=_add_arguments,
    run=_run,
)
