"""Renders the content and the figures of a run as one HTML page without scripts and without addresses."""

from pathlib import Path
from typing import Any

from pipeline.report.calibration_figure import draw_reliability
from pipeline.report.capabilities import read_capabilities
from pipeline.report.data import read_data
from pipeline.report.explanation import read_explanation
from pipeline.report.figure_cache import FigureCache
from pipeline.report.figures import IN_THE_DARK
from pipeline.report.head_figure import draw_heads
from pipeline.report.header import read_header
from pipeline.report.origins import read_origins
from pipeline.report.record import RunRecord
from pipeline.report.scores import Scores, read_scores
from pipeline.report.size_figure import draw_sizes
from pipeline.report.sizes import read_model_sizes
from pipeline.report.step_graph import LEAST_SCALE, draw_steps
from pipeline.report.training_figure import draw_training
from pipeline.report.trainings import TrainingCurves, read_trainings
from pipeline.views.loss_plot import COLORS

TEMPLATES = Path(__file__).parent / "templates"
# The folder of the folders of capabilities, each with its `report.html`.
CAPABILITY_TEMPLATES = Path(__file__).parents[1]


def make_page(record: RunRecord, figures: FigureCache) -> str:
    """Renders the page of a run; all texts of users are escaped.

    Args:
        record: the run.
        figures: the figures of earlier pages.
    """
    trainings, scores = read_trainings(record), read_scores(record)
    return _render(
        "page.html",
        header=read_header(record, scores, trainings),
        drawing=draw_steps(record),
        least_scale=LEAST_SCALE,
        origins=read_origins(record),
        **_shared(record, trainings, scores, figures),
    )


def make_artifact_page(record: RunRecord, facts: Any, figures: FigureCache) -> str:
    """Renders the page of one artifact.

    Args:
        record: the run that made it, with that step alone.
        facts: its title and tables.
        figures: the figures of earlier pages.
    """
    return _render(
        "artifact.html", facts=facts, **_shared(record, read_trainings(record), read_scores(record), figures)
    )


def _shared(
    record: RunRecord, trainings: list[TrainingCurves], scores: list[Scores], figures: FigureCache
) -> dict[str, Any]:
    """The content that pages of runs and of artifacts share."""
    return {
        "data": read_data(record),
        "capabilities": read_capabilities(record),
        "trainings": [(training, figures.draw(draw_training, training)) for training in trainings],
        "explanations": [(section, figures.draw(draw_heads, section.heads)) for section in read_explanation(record)],
        "scores": [(result, _draw_scores(result, figures)) for result in scores],
    }


def _render(template: str, **content: Any) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([TEMPLATES, CAPABILITY_TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    colors = list(zip(COLORS, IN_THE_DARK, strict=True))
    return environment.get_template(template).render(colors=colors, **content)


def _draw_scores(scores: Scores, figures: FigureCache) -> dict[str, list[Any]]:
    points = read_model_sizes(scores.measured)
    return {
        "reliability": figures.draw(draw_reliability, scores.reliability) if scores.reliability else [],
        "sizes": figures.draw(draw_sizes, points, scores.measured.metric) if len(points) > 1 else [],
    }
