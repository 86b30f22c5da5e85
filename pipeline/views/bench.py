"""The tables of a benchmark, on this machine and on a phone, and of the operations of a profile."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.views.tables import Table

Content = Mapping[str, Any]
PERCENTILES = ("p50", "p90", "p99")
_PHONE = ("file", "MB", "threads", "tokens", "open", "first", "p50", "p95", "memory, MB", "delegate")
# Operations that a table shows; the file has all.
_SHOWN = 12


def bench_tables(content: Content) -> list[Table]:
    """A row for each file and number of threads; then the operations of each file, if they were profiled."""
    names = list(zip(_names_of(content["files"]), content["files"], strict=True))
    lengths = sorted({length for file in content["files"] for length in file["lengths"]})
    headings = ["file", "MB", "threads", "open", "first", *(f"{length} tokens" for length in lengths)]
    rows = [
        [
            name,
            f"{file['bytes'] / 1e6:.2f}",
            str(run["threads"]),
            f"{run['open_milliseconds']:.2f}",
            f"{run['first_milliseconds']:.2f}",
            *(
                " / ".join(f"{times[name]:.2f}" for name in PERCENTILES) if times else ""
                for times in (run["milliseconds"].get(str(length)) for length in lengths)
            ),
            _number(run["own_megabytes"]),
            _number(run["peak_megabytes"]),
        ]
        for name, file in names
        for run in file["threads"]
    ]
    notes = [
        f"ms; tokens: {' / '.join(PERCENTILES)} of {content['answers']} answers to full rows; first: the longest row",
        "memory: the most beyond what the process held before it opened the file; a process for each row of the table",
    ]
    untimed = "; LiteRT's Python package does not time them" if content["operations"] else ""
    for name, file in names:
        if "delegate" in file:
            delegate = file["delegate"]
            parts = "1 part" if delegate["parts"] == 1 else f"{delegate['parts']} parts"
            share = f"{delegate['taken']} of {delegate['nodes']} nodes"
            notes.append(f"{name}: {delegate['name']} runs {share}, in {parts}{untimed}")
            notes += [f"  left: {count} {reason}" for reason, count in delegate["left"].items()]
    times = Table([*headings, "memory, MB", "process, MB"], rows, notes)
    return [times, *(_profile_table(name, file["profile"]) for name, file in names if "profile" in file)]


def phone_table(content: Content) -> Table:
    """A row for each file, signature and number of threads on a phone."""
    rows = [
        [
            name,
            f"{file['bytes'] / 1e6:.2f}",
            str(run["threads"]),
            str(run["tokens"]),
            f"{run['open_milliseconds']:.2f}",
            f"{run['first_milliseconds']:.2f}",
            *(f"{value:.2f}" for value in run["milliseconds"].values()),
            _number(run["own_megabytes"]),
            "" if run["delegate"] is None else "{taken} of {nodes} nodes".format(**run["delegate"]),
        ]
        for name, file in zip(_names_of(content["files"]), content["files"], strict=True)
        for run in file["runs"]
    ]
    return Table(_PHONE, rows, [f"ms on {content['phone']}, measured by benchmark_model with random inputs"])


def _profile_table(name: str, profile: Content) -> Table:
    """A row for each operation, the slowest first."""
    operations = profile["operations"]
    whole = sum(operation["milliseconds"] for operation in operations)
    shown, rest = operations[:_SHOWN], operations[_SHOWN:]
    lines = [(operation["name"], operation["nodes"], operation["milliseconds"]) for operation in shown]
    if rest:
        others = [sum(operation[key] for operation in rest) for key in ("nodes", "milliseconds")]
        lines.append((f"{len(rest)} others", others[0], others[1]))
    rows = [[kind, str(nodes), f"{spent:.3f}", f"{100 * spent / whole:.1f}"] for kind, nodes, spent in lines]
    return Table([f"{name}, {profile['length']} tokens", "nodes", "ms", "%"], rows)


def _names_of(files: Sequence[Content]) -> list[str]:
    """The files' names; their paths where two have the same name."""
    names = [Path(file["file"]).name for file in files]
    return names if len(set(names)) == len(names) else [file["file"] for file in files]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
