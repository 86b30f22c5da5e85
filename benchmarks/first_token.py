"""The time that is saved if the last layer computes only the first token, by family.

    python -m benchmarks.first_token --layers 6 --hidden 384 --heads 12 [--family deberta]

Two classifiers of each family, one that reads the mean of all tokens and one that reads the first, as files: `.tflite`
in float32 and int8, and `.onnx`. One passage on one thread, medians over alternating rounds; weights are random.
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness.contestants import Timer, race
from benchmarks.harness.passages import make_passage
from benchmarks.harness.shapes import add_shape, config_of
from benchmarks.inference import make_timer
from keras_bert.core.config import EncoderConfig
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.options.data import Pooling

LENGTH, LABELS = 128, 6
POOLINGS: tuple[Pooling, Pooling] = ("mean", "cls")
DEBERTA_V1: dict[str, Any] = {
    "position_buckets": 0,
    "shared_projections": False,
    "normalized_positions": False,
    "key_bias": False,
}
FAMILIES = ("bert", "deberta", "deberta_v1", "modernbert", "modernbert_local", "mobilebert", "bigbird")


def main() -> None:
    """Prints milliseconds of both files, and the share of the time that is saved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_shape(parser)
    parser.add_argument("--family", choices=FAMILIES, help="measure only this family; default: all")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    title = f"L{options.layers} H{options.hidden} A{options.heads}, {LENGTH} tokens, one thread"
    table = Table("ms: all tokens, the first, saved", "float32", "int8", "onnx", title=title)
    for family in (options.family,) if options.family else FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            contestants = export(shape_family(config_of(options), family), Path(folder))
            seconds = race(contestants, LENGTH, options.rounds)
        cells = []
        for kind in ("float32", "int8", "onnx"):
            before, after = (1000 * seconds[f"{kind} {pooling}"] for pooling in POOLINGS)
            cells.append(f"{before:.3f} {after:.3f} {1 - after / before:.0%}")
        table.add_row(family, *cells)
    Console().print(table)


def shape_family(config: EncoderConfig, family: str) -> EncoderConfig:
    """BERT's shape as another family has it: its settings, and widths in the proportions of its released models."""
    hidden = config.hidden_size
    narrow = {"embedding_size": hidden // 4, "intermediate_size": hidden, "activation": "relu"}
    gated = {"num_segments": 0, "intermediate_size": 3 * hidden // 2}
    changes: dict[str, dict[str, Any]] = {
        "bert": {},
        "deberta": {"variant": DeBERTa(), "num_segments": 0},
        "deberta_v1": {"variant": DeBERTa(**DEBERTA_V1), "num_segments": 0},
        # The last layer attends to all tokens, as in the released models.
        "modernbert": {"variant": ModernBERT(global_layers=(0, config.num_layers - 1)), **gated},
        "modernbert_local": {"variant": ModernBERT(global_layers=(0,)), **gated},
        "mobilebert": {"variant": MobileBERT(bottleneck_size=hidden // 4), **narrow},
        "bigbird": {"variant": BigBird()},
    }
    return dataclasses.replace(config, **changes[family])


def export(config: EncoderConfig, folder: Path) -> dict[str, Timer]:
    """Kind of a file and pooling -> its timer."""
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.export.onnx import export_onnx
    from keras_bert.export.runtimes import OnnxModel, TFLiteModel
    from keras_bert.export.tflite import export_tflite
    from keras_bert.models.encoder import build_encoder, input_names
    from keras_bert.tasks.classification import build_classifier

    timers = {}
    for pooling in POOLINGS:
        model = build_classifier(build_encoder(config), LABELS, pooling=pooling)
        names = input_names(model)
        passage = {name: make_passage(LENGTH)[name] for name in names}
        export_onnx(model, folder / f"{pooling}.onnx")
        export_tflite(model, folder / f"{pooling}.tflite", [LENGTH])
        ranges = QuantizationAware(model, [passage]).finish()
        export_tflite(model, folder / f"{pooling}.int8.tflite", [LENGTH], ranges)
        for kind, runtime in (
            ("float32", TFLiteModel(folder / f"{pooling}.tflite")),
            ("int8", TFLiteModel(folder / f"{pooling}.int8.tflite")),
            ("onnx", OnnxModel(folder / f"{pooling}.onnx", LENGTH)),
        ):
            timers[f"{kind} {pooling}"] = make_timer(runtime, names)
    return timers


if __name__ == "__main__":
    main()
