"""One passage on one thread: our int8 `.tflite` against ONNX Runtime's own float32 and dynamic int8.

    python -m benchmarks.inference --layers 2 --hidden 128

The weights are random: they do not matter for speed. Medians over alternating rounds.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from keras_bert.config import EncoderConfig

LENGTHS = (32, 64, 128)
LABELS = 6
VOCABULARY = 8000


def main() -> None:
    """Prints milliseconds and the ratio for every length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        contestants = export(options.layers, options.hidden, Path(folder))
        table = Table(
            "ms for one passage", *map(str, LENGTHS), title=f"L{options.layers} H{options.hidden}, one thread"
        )
        times: dict[str, list[float]] = {name: [] for name in contestants}
        for length in LENGTHS:
            for name, seconds in race(contestants, make_passage(length), options.rounds).items():
                times[name].append(1000 * seconds)
    for name, row in times.items():
        table.add_row(name, *(f"{value:.3f}" for value in row))
    ours, peer = times["ours, tflite int8"], times["onnxruntime dynamic int8"]
    table.add_row("peer / ours, int8", *(f"{theirs / mine:.2f}" for theirs, mine in zip(peer, ours, strict=True)))
    Console().print(table)


def export(layers: int, hidden: int, folder: Path) -> dict[str, Callable[..., Any]]:
    """Contestant -> how it classifies."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.export.onnx import export_onnx
    from keras_bert.export.runtimes import OnnxModel, TFLiteModel
    from keras_bert.export.tflite import export_tflite
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import build_classifier

    config = EncoderConfig(
        vocabulary_size=VOCABULARY,
        num_layers=layers,
        hidden_size=hidden,
        num_heads=max(1, hidden // 64),
        intermediate_size=4 * hidden,
        max_length=max(LENGTHS),
    )
    model = build_classifier(build_encoder(config), LABELS, pooling="mean")
    export_onnx(model, folder / "model.onnx")
    quantize_dynamic(folder / "model.onnx", folder / "int8.onnx", weight_type=QuantType.QInt8)
    export_tflite(model, folder / "float.tflite", LENGTHS)
    ranges = QuantizationAware(model, [make_passage(length) for length in LENGTHS]).finish()
    export_tflite(model, folder / "int8.tflite", LENGTHS, ranges)
    return {
        "ours, tflite int8": TFLiteModel(folder / "int8.tflite"),
        "ours, tflite float32": TFLiteModel(folder / "float.tflite"),
        "onnxruntime float32": OnnxModel(folder / "model.onnx", max(LENGTHS)),
        "onnxruntime dynamic int8": OnnxModel(folder / "int8.onnx", max(LENGTHS)),
    }


def make_passage(length: int) -> dict[str, np.ndarray[Any, Any]]:
    """A passage of random tokens, each input (1, length)."""
    tokens = np.random.default_rng(length).integers(5, VOCABULARY, (1, length), dtype=np.int32)
    return {"token_ids": tokens, "segment_ids": np.zeros_like(tokens), "padding_mask": np.ones_like(tokens)}


def race(
    contestants: dict[str, Callable[..., Any]], passage: dict[str, np.ndarray[Any, Any]], rounds: int
) -> dict[str, float]:
    """Median seconds for one passage; the contestants take turns, so that a busy machine hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, classify in contestants.items():
            start = time.perf_counter()
            for _ in range(20):
                classify(**passage)
            if number:  # the first round warms up
                seconds[name].append((time.perf_counter() - start) / 20)
    return {name: statistics.median(times) for name, times in seconds.items()}


if __name__ == "__main__":
    main()
