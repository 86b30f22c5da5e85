"""The table of a benchmark on a phone: a row for each file, signature and number of threads."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from pipeline.views.bench import names_of
from pipeline.views.tables import show_table

Content = Mapping[str, Any]

HEADINGS = ("file", "MB", "threads", "tokens", "open", "first", "p50", "p95", "memory, MB", "delegate")


def show_bench_on_phone(content: Content, console: Console) -> None:
    """Prints the table and the notes that explain it."""
    show_table(HEADINGS, rows_of(content), build_notes(content), console)


def rows_of(content: Content) -> list[list[str]]:
    """The cells of each run."""
    return [
        [
            name,
            f"{file['bytes'] / 1e6:.2f}",
            str(run["threads"]),
            str(run["tokens"]),
            f"{run['open_milliseconds']:.2f}",
            f"{run['first_milliseconds']:.2f}",
            *(f"{value:.2f}" for value in run["milliseconds"].values()),
            "" if run["own_megabytes"] is None else f"{run['own_megabytes']:.1f}",
            "" if run["delegate"] is None else "{taken} of {nodes} nodes".format(**run["delegate"]),
        ]
        for name, file in zip(names_of(content["files"]), content["files"], strict=True)
        for run in file["runs"]
    ]


def build_notes(content: Content) -> Iterator[str]:
    """Yields the notes below the table, one per line."""
    yield f"ms on {content['phone']}, measured by benchmark_model with random inputs"
