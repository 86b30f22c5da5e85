"""Scores over sizes, one point for each rung; a line joins the Pareto front."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.views.plot_style import COLORS, LOGARITHMIC_FROM, MARKERS, STYLE, set_ticks
from pipeline.views.reports import save_figure

FILES = ("score_over_size.svg", "score_over_size.png")


def draw_front(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws the score of each rung over megabytes and over milliseconds, with its deviation; gives the files.

    What no other rung beats in both lies on a line.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    longest = str(content["lengths"][-1])
    across: dict[str, Callable[[Mapping[str, Any]], float]] = {
        "MB of the file": lambda record: record["megabytes"],
        f"ms for {longest} tokens, one thread": lambda record: record["milliseconds"][longest],
    }
    with mpl.rc_context({**STYLE, "svg.hashsalt": "score over size"}):
        figure = Figure(figsize=(11.0, 4.4), layout="constrained")
        for axes, (label, place) in zip(figure.subplots(1, 2, sharey=True), across.items(), strict=True):
            points = {name: (place(record), 100 * record["score"]["mean"]) for name, record in content["rungs"].items()}
            steps = sorted(points[name] for name in front_of({name: (x, -y) for name, (x, y) in points.items()}))
            axes.plot(*zip(*steps, strict=True), color="#AAAAAA", linewidth=1.2, zorder=2)
            for number, (name, (x, y)) in enumerate(points.items()):
                color = "black" if number == 0 else COLORS[(number - 1) % len(COLORS)]
                sd = content["rungs"][name]["score"]["sd"]
                style = {"marker": MARKERS[number % len(MARKERS)], "markersize": 7, "markeredgecolor": "white"}
                plot_score(axes, x, y, None if sd is None else 100 * sd, color=color, label=name, **style)
            places = [x for x, _ in points.values()]
            set_ticks(axes, is_logarithmic=max(places) >= LOGARITHMIC_FROM * min(places))
            axes.margins(x=0.08, y=0.1)
            axes.set_xlabel(label)
            axes.set_ylabel(f"{content['metric'].replace('_', ' ')} x 100")
            axes.label_outer()
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", frameon=False)
        return save_figure(figure, folder, FILES)


def plot_score(axes: Any, x: float, y: float, sd: float | None, *, color: str, label: str, **style: Any) -> None:
    """A marker over its error bar, and over the error bars of all other points."""
    if sd is not None:
        axes.errorbar(x, y, yerr=sd, fmt="none", color=color, elinewidth=1, capsize=3, zorder=3)
    axes.plot([x], [y], color=color, linestyle="none", markeredgewidth=0.8, zorder=4, label=label, **style)


def front_of(costs: Mapping[str, Sequence[float]]) -> set[str]:
    """The Pareto front: names whose costs no other name keeps to, with less in one of them."""
    return {
        name
        for name, point in costs.items()
        if not any(
            other != point and all(theirs <= ours for theirs, ours in zip(other, point, strict=True))
            for other in costs.values()
        )
    }
