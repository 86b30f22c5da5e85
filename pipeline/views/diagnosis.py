"""The table of a diagnosis: a row for each layer, the most sensitive to quantization first."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from pipeline.views.tables import render_table, show_table

Content = Mapping[str, Any]

HEADINGS = ("layer", "gain, %", "kernel, dB", "output, dB", "range", "99.9 %", "+kB", "+µs")
# Layers that the table shows; the file has all.
_SHOWN = 20


def show_diagnosis(content: Content, console: Console) -> None:
    """Prints the table and the notes that explain it."""
    show_table(HEADINGS, rows_of(content)[:_SHOWN], build_notes(content), console)


def render_diagnosis(content: Content) -> str:
    """Renders the table as Markdown, with all layers."""
    return render_table(f"{content['name']}, {content['recipe']}", HEADINGS, rows_of(content), build_notes(content))


def rows_of(content: Content) -> list[list[str]]:
    """Returns the rows of the table, one for each layer."""
    return [
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
        for layer in content["layers"]
    ]


def build_notes(content: Content) -> Iterator[str]:
    """Yields the notes below the table, one per line."""
    times, metric = content["milliseconds"], content["metric"].replace("_", " ")
    quantized_score, float_score = (100 * content["score"][kind] for kind in ("quantized", "float"))
    yield (
        f"quantized without training, {content['recipe']}: {metric} {quantized_score:.2f}, float {float_score:.2f}, "
        f"x 100, on {content['rows']} validation rows; "
        f"{times['quantized']:.2f} ms against {times['float']:.2f} for a full row"
    )
    if len(content["layers"]) > _SHOWN:
        yield f"the first {_SHOWN} of {len(content['layers'])} layers; the file has all"
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
