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
from pipeline.report.trainings import Training, read_trainings
from pipeline.views.loss_plot import COLORS

TEMPLATES = Path(__file__).parent / "templates"


def make_page(record: Record, drawn: Drawn) -> str:
    """The page of a run; what users wrote stands in it as text.

    Args:
        record: of the run.
        drawn: pictures of pages before.
    """
    trainings, scores = read_trainings(record), read_scores(record)
    return _render(
        "page.html",
        head=read_head(record, scores, trainings),
        drawing=draw_steps(record),
        model=record.model if record.missed else None,
        origins=read_origins(record),
        **_shared(record, trainings, scores, drawn),
    )


def make_artifact_page(record: Record, facts: Any, drawn: Drawn) -> str:
    """The page of a single artifact.

    Args:
        record: of a run, its only step the one that made the artifact.
        facts: its title, and tables.
        drawn: pictures of pages before.
    """
    return _render("artifact.html", facts=facts, **_shared(record, read_trainings(record), read_scores(record), drawn))


def _shared(record: Record, trainings: list[Training], scores: list[Scores], drawn: Drawn) -> dict[str, Any]:
    """What pages of runs and of artifacts tell alike."""
    return {
        "data": read_data(record),
        "trainings": [(training, drawn.draw(draw_training, training)) for training in trainings],
        "scores": [(own, _draw(own, drawn)) for own in scores],
    }


def _render(template: str, **content: Any) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    colors = list(zip(COLORS, IN_THE_DARK, strict=True))
    return environment.get_template(template).render(colors=colors, **content)


def _draw(scores: Scores, drawn: Drawn) -> dict[str, list[Any]]:
    """The pictures of an evaluation."""
    points = points_of(scores.measured)
    return {
        "reliability": drawn.draw(draw_reliability, scores.reliability) if scores.reliability else [],
        "sizes": drawn.draw(draw_sizes, points, scores.measured["metric"]) if len(points) > 1 else [],
    }
