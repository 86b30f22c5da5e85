"""The files about something that was measured: its values, its table, and its pictures."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.views.pareto_plot import front_of, plot_score
from pipeline.views.plot_style import COLORS, LOGARITHMIC_FROM, MARKERS, STYLE, set_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def write_report(
    name: str,
    content: Mapping[str, Any],
    folder: Path,
    text: str,
    draw: Callable[[Mapping[str, Any], Path], list[Path]] | None = None,
) -> list[Path]:
    """Writes `NAME.json`, `NAME.md` and the figures; returns the files.

    `text` has the tables as Markdown; `draw` writes the pictures and gives their files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    values, table = folder / f"{name}.json", folder / f"{name}.md"
    values.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    table.write_text(text, encoding="utf-8")
    return [values, table, *([] if draw is None else draw(content, folder))]


def save_figure(figure: "Figure", folder: Path, names: Sequence[str]) -> list[Path]:
    """Writes a figure as each of some files, without a date: equal figures give equal files."""
    files = [folder / name for name in names]
    for file in files:
        figure.savefig(file, dpi=160, metadata={"Date": None} if file.suffix == ".svg" else {"Software": None})
    return files
