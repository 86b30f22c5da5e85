"""Times a masked-token training step of each family in our library, in transformers, and in keras-hub if it has one.

Our model and transformers' have the same weights: transformers makes and writes them, and our library reads them. The
first losses, in float32 and without dropout, must agree. Dropout is the default of each family's configuration.
transformers computes the scores of the vocabulary for all tokens. Our library and keras-hub compute them only for
masked tokens, because the loss reads no others; "everywhere" is our model with the scores of all tokens and the same
loss.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness.contestants import Contestant, Times, answer, take_turns
from benchmarks.harness.masked_batches import (
    POSITIONS,
    PREDICTIONS,
    VOCABULARY,
    Step,
    make_batch,
    score_everywhere,
    serve_steps,
)
from benchmarks.peers.keras_hub_masked_tokens import FAMILIES as KERAS_HUB_FAMILIES
from keras_bert.families.registry import FAMILIES

OURS, TRANSFORMERS, KERAS_HUB = "ours", "transformers", "keras-hub"
ROWS, LENGTH = 32, 128
SHAPE = {"num_layers": 4, "hidden_size": 256, "num_heads": 4, "intermediate_size": 1024}
# Keys of `config.json` and their values, for families whose released models have neither these proportions nor
# transformers' defaults.
_RELATIVE = {"relative_attention": True, "pos_att_type": "c2p|p2c", "position_biased_input": False}
CHANGES: dict[str, dict[str, Any]] = {
    "mobilebert": {"intra_bottleneck_size": 64, "intermediate_size": 256},
    "deberta": _RELATIVE,
    "deberta-v2": {**_RELATIVE, "position_buckets": 256, "share_att_key": True, "norm_rel_ebd": "layer_norm"},
    "modernbert": {"pad_token_id": 0},
}
# Families that run only in float32 in transformers 5.23, because bfloat16 cannot represent the value of their mask.
_FLOAT32_ONLY = ("deberta",)
EVERYWHERE = ", everywhere"
_OURS = ("float32 XLA parts", "bfloat16 XLA parts")
MODES = {
    OURS: (*_OURS, *(f"{mode}{EVERYWHERE}" for mode in _OURS)),
    TRANSFORMERS: ("float32", "bfloat16", "float32 compiled", "bfloat16 compiled"),
    KERAS_HUB: ("float32", "float32 XLA", "bfloat16", "bfloat16 XLA"),
}
# The allowed difference of losses of about 10.4 nats, which are sums in another order.
_TOLERANCE = 1e-4


def race_families(options: argparse.Namespace) -> None:
    """Prints a table for each family, and one of all, by the options of `benchmarks.train`."""
    rows = []
    for family in options.family:
        with tempfile.TemporaryDirectory() as folder:
            contestants = _start(family, Path(folder), options)
            entries = [(name, mode) for name in contestants for mode in MODES[name]]
            if not options.compile:
                entries = [entry for entry in entries if not entry[1].endswith("compiled")]
            if family in _FLOAT32_ONLY:
                entries = [entry for entry in entries if entry[0] != TRANSFORMERS or entry[1].startswith("float32")]
            times = take_turns(contestants, entries, options.rounds)
            for contestant in contestants.values():
                contestant.stop()
        hellos = {name: contestant.hello for name, contestant in contestants.items()}
        medians = {entry: statistics.median(wall for wall, _ in values) for entry, values in times.items()}
        _print_table(family, medians, times, hellos)
        rows.append(_compare(family, medians, hellos))
    names = (
        "family | first loss, ours | transformers' | best ours, tokens/s | x transformers | everywhere | x keras-hub"
    )
    print(f"\n| {names} |", "|---|---:|---:|---:|---:|---:|---:|", *rows, sep="\n")


def _start(family: str, folder: Path, options: argparse.Namespace) -> dict[str, Contestant]:
    """Starts processes with models of one family, first transformers', which makes the folder that ours reads.

    Raises:
        SystemExit: the first losses differ.
    """
    batch = ["--rows", str(ROWS), "--length", str(LENGTH), "--seconds", str(options.seconds)]
    arguments = [family, json.dumps(settings_of(family)), str(folder), *batch]
    theirs = Contestant(options.transformers_python, ["benchmarks.peers.transformers_masked_tokens", *arguments])
    ours = Contestant(sys.executable, ["benchmarks.family_race", str(folder), *batch])
    losses = ours.hello["loss"], theirs.hello["loss"]
    if abs(losses[0] - losses[1]) > _TOLERANCE:
        raise SystemExit(f"{family}: the first losses must agree, got {losses[0]} and transformers' {losses[1]}")
    contestants = {OURS: ours, TRANSFORMERS: theirs}
    if options.peers_python and family in KERAS_HUB_FAMILIES:
        names = {"hidden_size": "hidden_dim", "intermediate_size": "intermediate_dim"}
        shape = json.dumps({names.get(field, field): value for field, value in SHAPE.items()})
        peer = ["benchmarks.peers.keras_hub_masked_tokens", family, shape, *batch]
        contestants[KERAS_HUB] = Contestant(options.peers_python, peer)
    return contestants


def settings_of(family: str) -> dict[str, Any]:
    """The settings that give transformers' configuration of a family the shape `SHAPE`."""
    description = FAMILIES[family]
    shape = {
        **SHAPE,
        "vocabulary_size": VOCABULARY,
        "max_length": POSITIONS + description.fixed.get("position_offset", 0),
    }
    settings = {description.keys[field]: value for field, value in shape.items() if field in description.keys}
    return {**settings, **description.only, **CHANGES.get(family, {})}


def _print_table(
    family: str, medians: dict[tuple[str, str], float], times: Times, hellos: dict[str, dict[str, Any]]
) -> None:
    """A markdown table: one line for each contestant and mode."""
    best = min(seconds for (name, _), seconds in medians.items() if name == TRANSFORMERS)
    print(f"\n{family}, {settings_of(family)}, {ROWS} x {LENGTH} tokens, {PREDICTIONS} of a row masked\n")
    print(
        "| contestant | mode | scores a row | ms, median (minimum) | ms of cores | tokens/s | x best of transformers |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    for (name, mode), seconds in medians.items():
        scores = LENGTH if name == TRANSFORMERS or mode.endswith(EVERYWHERE) else PREDICTIONS
        least = min(wall for wall, _ in times[name, mode])
        cores = statistics.median(busy for _, busy in times[name, mode])
        milliseconds = f"{1000 * seconds:.0f} ({1000 * least:.0f}) | {1000 * cores:.0f}"
        speed = f"{ROWS * LENGTH / seconds:,.0f} | {best / seconds:.2f}"
        print(f"| {name} | {mode.removesuffix(EVERYWHERE)} | {scores} | {milliseconds} | {speed} |")
    print("", *(f"{name}: {hello}" for name, hello in hellos.items()), sep="\n", flush=True)


def _compare(family: str, medians: dict[tuple[str, str], float], hellos: dict[str, dict[str, Any]]) -> str:
    """A row of the table of all families: the best mode of each contestant."""

    def best(contestant: str, *, everywhere: bool = False) -> float | None:
        rates = [
            seconds
            for (name, mode), seconds in medians.items()
            if name == contestant and mode.endswith(EVERYWHERE) == everywhere
        ]
        return min(rates, default=None)

    ours, theirs, hub = best(OURS), best(TRANSFORMERS), best(KERAS_HUB)
    all_scores = best(OURS, everywhere=True)
    assert ours is not None
    assert all_scores is not None
    assert theirs is not None
    losses = " | ".join(f"{hellos[name]['loss']:.6f}" for name in (OURS, TRANSFORMERS))
    ratios = f"{theirs / ours:.2f} | {theirs / all_scores:.2f} | {'' if hub is None else f'{hub / ours:.2f}'}"
    return f"| {family} | {losses} | {ROWS * LENGTH / ours:,.0f} | {ratios} |"


def main() -> None:
    """Serves our model: reads it from a folder, reports the first loss, and times steps in each requested mode."""
    parser = argparse.ArgumentParser(description="Ours, beside `benchmarks.peers.transformers_masked_tokens`.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    import keras
    import tensorflow as tf

    from benchmarks.harness.our_steps import first_loss, make_step
    from keras_bert.interop.hugging_face import read_model

    batch = make_batch(options.rows, options.length)
    model = read_model(options.folder)
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
    answer({"versions": versions, "loss": first_loss(model, batch), "parameters": model.count_params()})

    def prepare(mode: str) -> Step:
        scored = score_everywhere(batch) if mode.endswith(EVERYWHERE) else batch
        return make_step(read_model(options.folder), mode.removesuffix(EVERYWHERE), scored)

    serve_steps(prepare, options.seconds)


if __name__ == "__main__":
    main()
