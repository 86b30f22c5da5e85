"""Table and plot of `doctor`: the quantization error of each layer, most sensitive layer first."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.views.plot_style import COLORS, STYLE
from pipeline.views.reports import save_figure
from pipeline.views.tables import Table

Content = Mapping[str, Any]

_HEADINGS = ("layer", "gain, %", "kernel, dB", "output, dB", "range", "99.9 %", "+kB", "+µs")
# Number of layers in the terminal and in the plot.
_SHOWN = 20
FILES = ("gains.svg", "gains.png")


def diagnosis_table(content: Content, *, is_whole: bool = True) -> Table:
    """Returns a table with a row for each layer, or for the first 20 layers."""
    layers = content["layers"] if is_whole else content["layers"][:_SHOWN]
    rows = [
        [
            layer["layer"],
            f"{100 * layer['gain']:.1f}",
            f"{layer['kernel_db']:.1f}",
            _number(layer["output_db"], "{:.1f}"),
            "" if layer["low"] is None else f"{layer['low']:.3g} to {layer['high']:.3g}",
            _number(layer["usual"], "{:.3g}"),
            f"{layer['extra_bytes'] / 1e3:.0f}",
            f"{layer['extra_microseconds']:.0f}",
        ]
        for layer in layers
    ]
    return Table(_HEADINGS, rows, list(_notes(content, len(layers))), f"{content['name']}, {content['recipe']}")


def _notes(content: Content, shown: int) -> Iterator[str]:
    times, metric = content["milliseconds"], content["metric"].replace("_", " ")
    quantized_score, float_score = (100 * content["score"][kind] for kind in ("quantized", "float"))
    yield (
        f"quantized without training, {content['recipe']}: {metric} {quantized_score:.2f}, float {float_score:.2f}, "
        f"x 100, on {content['rows']} validation rows; "
        f"{times['quantized']:.2f} ms against {times['float']:.2f} for a full row"
    )
    if shown < len(content["layers"]):
        yield f"the first {shown} of {len(content['layers'])} layers; the file has all"
    yield "gain: share of the distance to the float model's outputs that goes away if this layer alone stays float"
    yield "dB: signal to quantization noise; 99.9 %: that share of the output lies below it; outliers widen the range"
    yield "+kB, +µs: the cost of a float layer; the time is estimated by its share of the weights"
    fix = content["fix"]
    if fix is None:
        return
    named = ", ".join(f'"{layer}"' for layer in fix["float_layers"])
    result = f"{metric} {100 * fix['score']:.2f}, required: at least {100 * fix['wanted']:.2f}"
    if fix["reached"] and not fix["float_layers"]:
        yield f"no layer needs to stay float: {result}"
    elif fix["reached"]:
        yield f"to reach it: float_layers = [{named}] in [quantization]; {result}"
    else:
        count = len(fix["float_layers"])
        yield f"not reached with all {count} layers float: {result}; the operations between them stay quantized"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def draw_gains(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Plots the gain of each layer, largest on top, with layers to keep in float highlighted; returns the files."""
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
