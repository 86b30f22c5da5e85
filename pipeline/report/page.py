"""Writes the report of a run: one HTML file with figures, without scripts and external addresses."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.artifact import open_artifact
from components.dsl.errors import InputError
from pipeline.capabilities import CAPABILITIES
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.records import StoredArtifact
from pipeline.report.calibration_figure import draw_reliability
from pipeline.report.data import read_data
from pipeline.report.figures import DARK_COLORS, FigureCache
from pipeline.report.header import read_header
from pipeline.report.origins import read_origins
from pipeline.report.record import RunRecord, read_record
from pipeline.report.scores import Scores, read_scores
from pipeline.report.size_figure import draw_sizes, read_model_sizes
from pipeline.report.step_graph import LEAST_SCALE, draw_steps
from pipeline.report.training_figure import draw_training
from pipeline.report.trainings import TrainingCurves, read_trainings
from pipeline.views.plot_style import COLORS
from pipeline.views.reports import check_output

TEMPLATES = Path(__file__).parent / "templates"


def make_page(record: RunRecord, figures: FigureCache) -> str:
    """Renders the page of a run; all user texts are escaped."""
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
    """Renders the page of one artifact; the record of its run has only the step that made it."""
    return _render(
        "artifact.html", facts=facts, **_shared(record, read_trainings(record), read_scores(record), figures)
    )


def _shared(
    record: RunRecord, trainings: list[TrainingCurves], scores: list[Scores], figures: FigureCache
) -> dict[str, Any]:
    """Returns the content that pages of runs and artifacts share."""
    drawn = []
    for result in scores:
        points, reliability = read_model_sizes(result.measured, refused=result.blessed is False), result.reliability
        reliability_figures = figures.draw(draw_reliability, reliability) if reliability else []
        size_figures = figures.draw(draw_sizes, points, result.measured.metric) if len(points) > 1 else []
        drawn.append((result, {"reliability": reliability_figures, "sizes": size_figures}))
    return {
        "data": read_data(record),
        "capabilities": read_capabilities(record, figures),
        "trainings": [(training, figures.draw(draw_training, training)) for training in trainings],
        "scores": drawn,
    }


def _render(template: str, **content: Any) -> str:
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined

    # `NAME/report.html` is the template beside the module of a capability.
    folders = {
        capability.name: FileSystemLoader(Path(inspect.getfile(type(capability))).parent) for capability in CAPABILITIES
    }
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(TEMPLATES), PrefixLoader(folders)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(colors=list(zip(COLORS, DARK_COLORS, strict=True)), **content)


class CapabilitySection(NamedTuple):
    """A section of the page about one output of a capability; `content`: what `Capability.read` returns."""

    name: str
    title: str
    step: str
    folder: str
    content: Any


def read_capabilities(record: RunRecord, figures: FigureCache) -> list[CapabilitySection]:
    """Returns the capability sections of a run; unreadable outputs are skipped."""
    sections = []
    for capability in CAPABILITIES:
        for kind in capability.outputs:
            for step, folder in record.outputs(kind.__name__):
                try:
                    content = capability.read(kind(folder), figures.draw)
                except (OSError, ValueError, KeyError, TypeError, StopIteration):
                    continue
                place = folder.relative_to(record.root).as_posix()
                sections.append(CapabilitySection(capability.name, capability.title, step.name, place, content))
    return sections


REPORTS = "reports"
_DRAWN = ".drawn.json"


def _is_damaged(folder: Path, stored: StoredArtifact) -> bool:
    try:
        return open_artifact(folder, stored.type).read_fingerprint() != stored.fingerprint
    except (OSError, ValueError, KeyError, TypeError):
        return True


def write_page(root: Path, number: int | None = None, file: Path | None = None) -> Path:
    """Writes the page of a run, by default the newest, and returns its file, by default `ROOT/reports/RUN.html`."""
    if file is not None:
        check_output(file)
    record = read_record(root, number)
    figures = FigureCache(root / REPORTS / _DRAWN)
    try:
        page = make_page(record, figures)
    except Exception as error:
        for stored in (stored for step in record.steps for stored in step.outputs.values()):
            folder = root / str(stored.path)
            if folder.is_dir() and _is_damaged(folder, stored):
                raise InputError(
                    f"{folder} must be as its step wrote it, got other content; run the job again, which makes it again"
                ) from error
        raise
    file = file or root / REPORTS / f"{record.run.id}.html"
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out must be a file that can be written, got {file}: {error.strerror}") from error
    figures.keep()
    return file


@contextlib.contextmanager
def report_written_after(
    root: Path, observer: Observer, say: Callable[[str], None], complain: Callable[[str], None]
) -> Iterator[None]:
    """A context that writes the page of the run that was started in it, if the run reached a step.

    `complain` receives the reason if the page cannot be written; the result of the body is kept.
    """
    try:
        yield
    finally:
        try:
            if observer.run is not None and read_record(root, observer.run).steps:
                say(f"report: {write_page(root, observer.run)}")
        except Exception as error:
            complain(f"there is no report: {' '.join(str(error).split()) or type(error).__name__}")
