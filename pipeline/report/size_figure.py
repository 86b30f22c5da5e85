"""The scores of models over their size and over their latency, as figures."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from components.artifacts.evaluation import Metrics
from pipeline.report.figures import CARD, INK, PAGE_STYLE, as_svg
from pipeline.views.pareto_plot import front_of, plot_score
from pipeline.views.plot_style import COLORS, LOGARITHMIC_FROM, MARKERS, set_ticks

# In inches; the last is the height of a line of the legend.
_WIDTH, _HEIGHT, _LEGEND_LINE = 4.3, 2.9, 0.2
_COLUMNS = 2
# The share of an axis above a score of 100, for the marks there.
_ABOVE = 0.06


class ModelPoint(NamedTuple):
    """A model: `score` and its standard deviation `sd` over seeds are times 100, milliseconds are for one row.

    `decision` is `shipped` or `refused`, empty for other models.
    """

    name: str
    megabytes: float
    milliseconds: float
    score: float
    sd: float | None
    decision: str = ""


def read_model_sizes(metrics: Metrics, *, refused: bool = False) -> list[ModelPoint]:
    """The models with a known size, in the order of the table."""
    points, decisions = [], {metrics.shipped: "refused" if refused else "shipped"}
    for name, model in metrics.models.items():
        if model.megabytes is not None and model.milliseconds is not None:
            score = model.metrics[metrics.metric]
            sd = None if score.sd is None else 100 * score.sd
            sizes = model.megabytes, model.milliseconds
            points.append(ModelPoint(name, *sizes, 100 * score.mean, sd, decisions.get(name, "")))
    return points


def draw_sizes(points: Sequence[ModelPoint], metric: str) -> list[str]:
    """Draws both figures as SVG; a line connects the models that no other model beats in both."""
    import matplotlib as mpl

    with mpl.rc_context(PAGE_STYLE):
        return [
            _draw(points, metric, "MB of the file", lambda point: point.megabytes),
            _draw(points, metric, "ms for one row, one thread", lambda point: point.milliseconds),
        ]


def _draw(points: Sequence[ModelPoint], metric: str, across: str, place: Callable[[ModelPoint], float]) -> str:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    legend = _LEGEND_LINE * -(-len(points) // _COLUMNS) + 0.1
    height = _HEIGHT + legend
    figure = Figure(figsize=(_WIDTH, height))
    axes = figure.add_axes((0.15, (0.5 + legend) / height, 0.83, (_HEIGHT - 0.6) / height))
    places = {point.name: (place(point), point.score) for point in points}
    steps = sorted(places[name] for name in front_of({name: (x, -y) for name, (x, y) in places.items()}))
    axes.plot(*zip(*steps, strict=True), color=INK, linewidth=1, alpha=0.5, zorder=2)
    for number, point in enumerate(points):
        style: dict[str, Any] = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)]}
        style |= {"markersize": 10 if point.decision else 7.5, "markeredgecolor": CARD}
        label = f"{point.name}, {point.decision}" if point.decision else point.name
        plot_score(axes, place(point), point.score, point.sd, label=label, **style)
    set_ticks(axes, is_logarithmic=max(map(place, points)) >= LOGARITHMIC_FROM * min(map(place, points)))
    axes.margins(x=0.08, y=0.12)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    low, high = axes.get_ylim()
    # No score is above 100.
    axes.set_ylim(low, min(high, 100 + _ABOVE * (100 - low)))
    axes.set_xlabel(across, labelpad=2)
    axes.set_ylabel(f"{metric.replace('_', ' ')} x 100", labelpad=2)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower left",
        bbox_to_anchor=(0.08, 0.0),
        ncols=_COLUMNS,
        frameon=False,
        fontsize=9,
        labelspacing=0.35,
        handletextpad=0.2,
        columnspacing=1.5,
        borderpad=0,
    )
    return as_svg(figure, f"{metric} over {across}")
