"""The tables of `compare`: a row for each variant, or for each rung of a ladder of compressions."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.artifacts.evaluation import SeedScores
from components.scoring.model_card import format_score
from pipeline.views.tables import Table

Content = Mapping[str, Any]


def comparison_table(content: Content) -> Table:
    """A row for each variant."""
    variants = content["variants"]
    first = variants[content["baseline"]]
    trained = any("pretraining" in record for record in variants.values())
    headings = ["variant", "parameters"]
    if trained:
        headings += ["steps", "FLOPs", "min", "held-out loss", *(["bits a byte"] if content["pieces_differ"] else [])]
    headings += [f"{name} {score['metric'].replace('_', ' ')}".strip() for name, score in first["tasks"].items()]
    rows = []
    for name, record in variants.items():
        number, spent = record["parameters"], record.get("pretraining")
        row = [name, f"{number / 1e6:.2f} M" if number >= 1e6 else f"{number:,}"]
        if trained and spent is None:
            row += [""] * (5 if content["pieces_differ"] else 4)
        elif trained:
            units = ("loss", "bits_a_byte") if content["pieces_differ"] else ("loss",)
            losses = [f"{spent['curve'][-1][unit]:.3f}" for unit in units]
            shown = [f"({loss})" if spent["unlike"] else loss for loss in losses]
            row += [f"{spent['steps']:,}", f"{spent['flops']:.2e}", f"{spent['seconds'] / 60:.1f}", *shown]
        rows.append([*row, *(_score_cell(score) for score in record["tasks"].values())])
    return Table(headings, rows, list(_notes(content)), content["name"])


def _score_cell(score: Mapping[str, Any]) -> str:
    text = format_score(SeedScores(score["mean"], score["sd"], score["seeds"]))
    difference = score.get("difference")
    if difference is None:
        return text
    mark = " **" if difference["holm"] else " *" if difference["significant"] else ""
    low, high = difference["low"], difference["high"]
    interval = "" if low is None else f" [{100 * low:+.2f}, {100 * high:+.2f}]"
    return f"{text}\n{100 * difference['mean']:+.2f}{interval}{mark}"


def _notes(content: Content) -> Iterator[str]:
    variants, baseline = content["variants"], content["baseline"]
    budget = content["budget"]
    if budget is not None:
        amount = f"{budget['amount']:.3g} FLOPs" if budget["unit"] == "flops" else f"{budget['amount'] / 60:g} minutes"
        yield f"budget: {amount} of pre-training for each variant, as whole steps of its own cost"
    spent = {name: record["pretraining"] for name, record in variants.items() if "pretraining" in record}
    if spent:
        yield "FLOPs: of all products of the training steps; min: duration of the step, validations included"
        names = sorted({record["loss"].replace("_", " ") for record in spent.values()})
        yield f"held-out loss: {', '.join(names)}, in nats a prediction, after the last step"
        if content["pieces_differ"]:
            yield "bits a byte: that loss spread over the bytes of the predicted tokens, as vocabularies differ"
        unlike = {name: record["unlike"] for name, record in spent.items() if record["unlike"]}
        if unlike:
            reasons = ", ".join(f"{name} ({', '.join(keys)})" for name, keys in unlike.items())
            yield f"in brackets: losses of other predictions than {baseline}'s, not to be compared with it: {reasons}"
    tasks = {name: score for name, score in variants[baseline]["tasks"].items() if "rows" in score}
    if tasks:
        rows = ", ".join(f"{name} {score['rows']}" for name, score in tasks.items())
        over = f"; mean ± standard deviation over {content['seeds']} seeds" if content["seeds"] > 1 else ""
        yield f"scores: x 100, on test rows ({rows}){over}"
    if tasks and len(variants) > 1:
        yield from _notes_on_differences(content)


def _notes_on_differences(content: Content) -> Iterator[str]:
    baseline, seeds = content["baseline"], content["seeds"]
    if seeds == 1:
        yield f"below a score: its difference from {baseline}'s; with one seed there is no estimate of variance"
        return
    marks = f"; * p <= 0.05; ** also among all {content['tests']} that were tested (Holm 1979)"
    yield (
        f"below a score: its difference from {baseline}'s and the 95 % interval, by the t-test of pairs of seeds"
        f"{marks if content['tests'] else '; none has a spread over seeds that could be tested'}"
    )
    weak = ", so that only large ones show" if seeds < 5 else ""
    yield (
        f"{seeds} seeds: the interval reaches {content['half_width']:.1f} standard deviations of the differences to "
        f"each side{weak}; seeds are of fine-tuning: how another pre-training would turn out they do not tell"
    )


def ladder_table(content: Mapping[str, Any]) -> Table:
    """A row for each rung."""
    timed = [f"ms, {length} tokens" for length in content["lengths"]]
    headings = ["rung", content["metric"].replace("_", " "), "kept, %", "parameters", "MB", *timed]
    rows = [
        [
            name + (" •" if record["on_front"] else ""),
            format_score(SeedScores(**record["score"])),
            f"{100 * record['share']:.1f}",
            f"{record['parameters'] / 1e6:.2f} M",
            f"{record['megabytes']:.2f}",
            *(f"{record['milliseconds'][str(length)]:.2f}" for length in content["lengths"]),
        ]
        for name, record in content["rungs"].items()
    ]
    over = f"; mean ± standard deviation over {content['seeds']} seeds" if content["seeds"] > 1 else ""
    notes = [
        f"scores: x 100, of the exported file, on {content['rows']} test rows{over}",
        "kept: share of the teacher's score, of the same seed",
        "ms: the median for one full row on one thread; • no other rung is both smaller and better",
    ]
    return Table(headings, rows, notes, content["name"])
