"""Scores over sizes: the points of a figure, and the Pareto front."""

from collections.abc import Mapping, Sequence
from typing import Any


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
