"""Content and pictures of a run -> one HTML page, without a script and without an address to anything else."""

from pathlib import Path
from typing import Any

from pipeline.report.calibration_figure import draw_reliability
from pipeline.report.data import read_data
from pipeline.report.drawn import Drawn
from pipeline.report.figures import IN_THE_DARK
from pipeline.report.head import read_head
from pipeline.report.origins import read_origins
from pipeline.report.record import Record
from pipeline.report.scores import Scores, read_scores
from pipeline.report.size_figure import draw_sizes
from pipeline.report.sizes import points_of
from pipeline.report.step_graph import draw_steps
from pipeline.report.training_figure import draw_training
from pipeline.report.trainings import read_trainings
from pipeline.views.loss_plot import COLORS

TEMPLATES = Path(__file__).parent / "templates"


def make_page(record: Record, drawn: Drawn) -> str:
    """The page of a run; what users wrote stands in it as text.

    Args:
        record: of the run.
        drawn: pictures of pages before.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    trainings, scores = read_trainings(record), read_scores(record)
    return environment.get_template("page.html").render(
        head=read_head(record, scores, trainings),
        drawing=draw_steps(record),
        model=record.model if record.missed else None,
        data=read_data(record),
        trainings=[(training, drawn.draw(draw_training, training)) for training in trainings],
        scores=[(own, _draw(own, drawn)) for own in scores],
        origins=read_origins(record),
        colors=list(zip(COLORS, IN_THE_DARK, strict=True)),
    )


def _draw(scores: Scores, drawn: Drawn) -> dict[str, list[Any]]:
    """The pictures of an evaluation."""
    points = points_of(scores.measured)
    return {
        "reliability": drawn.draw(draw_reliability, scores.reliability) if scores.reliability else [],
        "sizes": drawn.draw(draw_sizes, points, scores.measured["metric"]) if len(points) > 1 else [],
    }
