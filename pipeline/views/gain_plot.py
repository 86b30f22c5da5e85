"""Draws the loss by quantization of every layer as bars: the gain if it stays float."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.views.loss_plot import COLORS, STYLE
from pipeline.views.reports import save_figure

FILES = ("gains.svg", "gains.png")
# Layers that the picture shows.
_SHOWN = 20


def draw_gains(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws the gain of each layer, the largest on top, those that are to stay float in another colour; gives files."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    layers = content["layers"][:_SHOWN]
    chosen = set((content["fix"] or {}).get("float_layers", ()))
    with mpl.rc_context({**STYLE, "svg.hashsalt": "gains"}):
        figure = Figure(figsize=(9.0, 0.8 + 0.27 * len(layers)), layout="constrained")
        axes = figure.subplots()
        names = [layer["layer"] for layer in layers]
        colors = [COLORS[4] if name in chosen else COLORS[1] for name in names]
        axes.barh(names, [100 * layer["gain"] for layer in layers], color=colors, height=0.7, zorder=2)
        axes.invert_yaxis()
        axes.axvline(0, color="#555555", linewidth=0.8)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("share of the distance from the float outputs that is gone where it stays float, %")
        title = f"{content['name']}, {content['recipe']}" + ("; orange: to be left float" if chosen else "")
        axes.set_title(title, loc="left", fontsize=9.5, color="#333333")
        return save_figure(figure, folder, FILES)
