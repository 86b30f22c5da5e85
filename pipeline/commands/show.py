"""`show`: the runs of a root, or one run, step, artifact or file."""

import re
from pathlib import Path
from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, Verb, absolute_path, open_address, open_store, refuse_options, root_option


@click.command(cls=Verb, example="show runs/pushed/reviews/1/model.tflite")
@click.argument(
    "what",
    metavar="[RUN|STEP|ARTIFACT|FILE]",
    required=False,
    help="A run's number: its steps. A step's name: the changes that made it run again. An artifact: its statistics. "
    "An artifact of the root, a pushed file or folder, or a copy of one: the steps, artifacts and data files that it "
    "was made from. Default: all runs and artifacts.",
)
@click.option("--run", type=int, metavar="N", help="Explain the step in this run. Default: the newest with the step.")
@root_option
def show_command(options: SimpleNamespace, console: Console) -> int:
    """Show runs and artifacts, why a step ran, or the origin of a file.

    A number is a run; a name of letters, digits and _ is a step, and so is one with - or + that no file has; anything
    else is a path. Write ./1 for a folder 1.
    """
    from pipeline.provenance.lineage import find_lineage
    from pipeline.provenance.why import find_reason
    from pipeline.views.provenance import show_lineage, show_reason, show_run, show_status
    from pipeline.views.statistics import is_artifact, read_artifact, show_statistics

    what = options.what
    # The steps of several seeds are named as `fine_tune-0`, those of ladders as `evaluate-pruning+quantization`.
    is_step = what is not None and re.sub("[-+]", "_", what).isidentifier()
    is_step = is_step and (what.isidentifier() or not Path(what).exists())
    if not is_step:
        refuse_options(options, ["run"], "without STEP")
    path = None
    if what is not None and not is_step and not re.fullmatch(r"\d+", what):
        # The statistics of an artifact, and the origin of an artifact in the root or of any other file.
        path = open_address(absolute_path(what))
        if is_artifact(path):
            show_statistics(read_artifact(path), console)
            if not path.is_relative_to(options.root / "artifacts"):
                return DONE
    with open_store(options.root) as store:
        if what is None:
            show_status(store, console)
        elif is_step:
            show_reason(find_reason(store, what, options.run), console)
        elif path is not None:
            show_lineage(find_lineage(store, options.root, path), console)
        else:
            show_run(store, int(what), console)
    return DONE
