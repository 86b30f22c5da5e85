"""One passage on one thread: our int8 `.tflite` against what ONNX Runtime makes of the same model.

    python -m benchmarks.inference --layers 6 --hidden 384 --heads 12 [--transformers-python PATH] [--openvino]
    python -m benchmarks.inference --rows 8 --threads 2 ...

The model is a classifier that reads the first token, as that of transformers does; one row of the table is a model that
reads the mean of all tokens. The weights are random, which does not change the speed. Times are medians over
alternating rounds.

Peers: our own `.onnx` files in ONNX Runtime. With `--transformers-python`, an interpreter with torch, transformers,
onnx, onnxruntime and sympy, also transformers' model, optimized and quantized by ONNX Runtime. With `--openvino`, if
that interpreter also has openvino and nncf, transformers' model and our `.onnx` files in OpenVINO, in float32, bfloat16
and int8; our int8 file has learned ranges.

With `--rows`, an inference has several passages, as on a server: an `.onnx` file gets them as one batch, a `.tflite`
file one after the other. Times are those of one passage. With several threads, the faster of two ways counts: all
threads run one inference, or each thread runs a model of its own on a part of the rows. The last row of the table
divides the operations of the products with weights by the total time, as a share of the peak of int8 products.
"""

import argparse
import itertools
import json
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from timeit import repeat, timeit
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.harness.contestants import Contestant, Timer, race
from benchmarks.harness.passages import APART, LENGTHS, Load, make_passage
from benchmarks.harness.shapes import add_shape, config_of
from keras_bert.core.config import EncoderConfig
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.families.registry import FAMILIES
from keras_bert.options.data import Pooling

LABELS = 6
OURS = "ours, tflite int8"
OUR_ONNX = ("onnxruntime, our float32", "onnxruntime, our dynamic int8")
# The last one is the model of all other files.
POOLINGS: dict[str, Pooling] = {f"{OURS}, mean of all tokens": "mean", OURS: "cls"}
# The width of the square product whose speed is the peak.
_PEAK_WIDTH = 1024

# Passages of one contestant before the next one's turn.
_PASSAGES = 20

ONE_PASSAGE = Load(1, 1)


def main() -> None:
    """Prints milliseconds and ratios for every length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_shape(parser)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--transformers-python", help="without it: the peers are our own .onnx files")
    parser.add_argument("--openvino", action="store_true", help="needs --transformers-python")
    parser.add_argument("--rows", type=int, default=1, help="passages of an inference")
    parser.add_argument("--threads", type=int, default=1, help="of an inference")
    options = parser.parse_args()
    if options.openvino and not options.transformers_python:
        parser.error("--openvino must stand beside --transformers-python, whose interpreter has openvino and nncf")
    config, load = config_of(options), Load(options.rows, options.threads)
    our_files = {OURS: (OURS,), "our .onnx": OUR_ONNX}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ours, peers = export(config, folder, load)
        groups: dict[str, Collection[str]] = {"our .onnx": OUR_ONNX}
        if options.transformers_python:
            theirs = open_onnx(export_theirs(config, options.transformers_python, folder / "theirs"), load)
            groups["transformers' .onnx"] = list(theirs)
            peers |= theirs
        if options.openvino:
            start = partial(start_openvino, options.transformers_python, load)
            theirs = start("openvino", [folder / "theirs" / "float32.onnx"])
            files = export_for_openvino(config, folder)
            in_openvino = start("openvino, our", [files[0], "--static", files[1]])
            groups["OpenVINO"], our_files["our .onnx in OpenVINO"] = list(theirs), tuple(in_openvino)
            peers |= theirs | in_openvino
        contestants = ours | peers
        rows = [race(contestants, length, options.rounds) for length in LENGTHS]
        peak = measure_peak(load.threads)
    title = f"L{options.layers} H{options.hidden} A{options.heads}, rows: {load.rows}, threads: {load.threads}"
    table = Table("ms for one passage", *map(str, LENGTHS), title=title)
    for name in contestants:
        table.add_row(name, *(f"{1000 * row[name]:.3f}" for row in rows))
    for (name, entries), (group, names) in itertools.product(our_files.items(), groups.items()):
        if name != group:
            ratios = (_best(row, entries) / _best(row, names) for row in rows)
            table.add_row(f"{name} / best of {group}", *(f"{ratio:.2f}" for ratio in ratios))
    shares = (
        count_operations(config, length) / _best(row, [OURS]) / peak for length, row in zip(LENGTHS, rows, strict=True)
    )
    table.add_row(f"ours, share of {peak / 1e9:.0f} GOP/s", *(f"{share:.0%}" for share in shares))
    Console().print(table)


def _best(seconds: Mapping[str, float], names: Collection[str]) -> float:
    """The smallest time of some contestants, in either way of using threads."""
    return min(value for name, value in seconds.items() if name.removesuffix(APART) in names)


def export(config: EncoderConfig, folder: Path, load: Load = ONE_PASSAGE) -> tuple[dict[str, Timer], dict[str, Timer]]:
    """Contestant -> its timer: our `.tflite` files, and our `.onnx` files in ONNX Runtime."""
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.export.onnx import export_onnx
    from keras_bert.export.runtimes import TFLiteModel
    from keras_bert.export.tflite import export_tflite
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import build_classifier

    ours = {}
    for name, pooling in POOLINGS.items():
        model = build_classifier(build_encoder(config), LABELS, pooling=pooling)
        ours[name] = folder / f"{pooling}.tflite"
        ranges = QuantizationAware(model, [make_passage(length) for length in LENGTHS]).finish()
        export_tflite(model, ours[name], LENGTHS, ranges)
    ours["ours, tflite float32"] = folder / "float.tflite"
    export_tflite(model, folder / "float.tflite", LENGTHS)
    export_onnx(model, folder / "model.onnx")
    quantize(folder / "model.onnx", folder / "int8.onnx")
    timers: dict[str, Timer] = {}
    for name, path in ours.items():
        timers |= make_timers(name, partial(TFLiteModel, path), load)
    return timers, open_onnx(dict(zip(OUR_ONNX, (folder / "model.onnx", folder / "int8.onnx"), strict=True)), load)


def export_for_openvino(config: EncoderConfig, folder: Path) -> tuple[Path, Path]:
    """Our `.onnx` files with transformers' inputs: in float32, and in int8 with learned ranges."""
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.core.folders import WEB_FILE, WEB_STATIC_FILE
    from keras_bert.export.transformers_js import export_transformers_js
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import Classification
    from keras_bert.tokenizers.tokenizer import Tokenizer
    from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

    words = [f"word{number}" for number in range(config.vocabulary_size - len(SPECIAL_TOKENS))]
    task = Classification.build(
        build_encoder(config),
        Tokenizer([*SPECIAL_TOKENS, *words], lowercase=True),
        labels=[f"label {number}" for number in range(LABELS)],
        max_length=config.max_length,
        pooling="cls",
    )
    ranges = QuantizationAware(task.network(), [make_passage(length) for length in LENGTHS]).finish()
    export_transformers_js(task, folder, ranges=ranges)
    return folder / WEB_FILE, folder / WEB_STATIC_FILE


def quantize(path: Path, result: Path) -> None:
    """Quantizes a file by ONNX Runtime's dynamic quantizer, with its defaults."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(path, result, weight_type=QuantType.QInt8)


def export_theirs(config: EncoderConfig, python: str, folder: Path) -> dict[str, Path]:
    """Contestant -> its file: transformers' model for ONNX Runtime."""
    sizes = ("vocabulary_size", "num_layers", "hidden_size", "num_heads", "intermediate_size", "max_length")
    settings = {FAMILIES["bert"].keys[size]: getattr(config, size) for size in sizes}
    folder.mkdir()
    command = [python, "-m", "benchmarks.peers.transformers_onnx", str(folder)]
    command.append(json.dumps({**settings, "num_labels": LABELS}))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {f"onnxruntime, {path.stem}": path for path in sorted(folder.glob("*.onnx"))}


def open_onnx(files: Mapping[str, Path], load: Load) -> dict[str, Timer]:
    """Contestant -> its timer: `.onnx` files in ONNX Runtime."""
    from keras_bert.export.runtimes import OnnxModel

    timers: dict[str, Timer] = {}
    for name, path in files.items():
        timers |= make_timers(name, partial(OnnxModel, path, max(LENGTHS)), load)
    return timers


def start_openvino(python: str, load: Load, name: str, arguments: Sequence[str | Path]) -> dict[str, Timer]:
    """Contestant -> its timer: a model in OpenVINO, in a process of its own."""
    shape = ["--rows", str(load.rows), "--threads", str(load.threads)]
    process = Contestant(python, ["benchmarks.peers.openvino_models", *map(str, arguments), *shape])

    def make_openvino_timer(mode: str) -> Timer:
        return lambda length: process.ask([mode, length, count_calls(load.rows)]) / load.rows

    return {f"{name}, {mode}": make_openvino_timer(mode) for mode in process.hello["modes"]}


def make_timers(name: str, open_model: Callable[[int], Callable[..., Any]], load: Load) -> dict[str, Timer]:
    """The timers of a model in this process: one for each way of using the threads of the load."""
    timers = {}
    for way, count in load.ways.items():
        models = [open_model(load.threads // count) for _ in range(count)]
        timers[name + way] = make_timer(join_models(models) if count > 1 else models[0], rows=load.rows)
    return timers


def join_models(models: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """A model that splits its rows among several models, each in a thread of its own."""
    threads = ThreadPoolExecutor(len(models))

    def classify(**passages: Any) -> list[Any]:
        parts = zip(*(np.array_split(values, len(models)) for values in passages.values()), strict=True)
        return list(threads.map(lambda model, part: model(**dict(zip(passages, part, strict=True))), models, parts))

    return classify


def make_timer(classify: Callable[..., Any], names: Collection[str] = INPUT_NAMES, rows: int = 1) -> Timer:
    """The timer of a model of this process, with the inputs of these names and as many passages an inference."""

    def measure(length: int) -> float:
        passages = {name: values for name, values in make_passage(length, rows).items() if name in names}
        calls = count_calls(rows)
        return timeit(partial(classify, **passages), number=calls) / (calls * rows)

    return measure


def count_calls(rows: int) -> int:
    """Inferences of one contestant before the next one's turn."""
    return max(1, _PASSAGES // rows)


def count_operations(config: EncoderConfig, length: int) -> int:
    """Additions and multiplications of the products with weights that an answer needs, without the head.

    The last layer needs keys and values of all tokens, and all other products of the first token only.
    """
    keys_values = 2 * config.hidden_size**2
    others = keys_values + 2 * config.hidden_size * config.intermediate_size
    return 2 * (length * (config.num_layers * keys_values + (config.num_layers - 1) * others) + others)


def measure_peak(threads: int = 1) -> float:
    """Operations a second of a large product of uint8 and int8, the best of ten."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    shape = (_PEAK_WIDTH, _PEAK_WIDTH)
    integers = np.random.default_rng(0).integers(-100, 100, shape)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["given", "kernel"], ["result"])],
        "peak",
        [helper.make_tensor_value_info("given", TensorProto.UINT8, shape)],
        [helper.make_tensor_value_info("result", TensorProto.INT32, shape)],
        [numpy_helper.from_array(integers.astype("int8"), "kernel")],
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    given = {"given": (integers + 100).astype("uint8")}
    return 2 * _PEAK_WIDTH**3 / min(repeat(partial(session.run, None, given), number=1, repeat=11))


if __name__ == "__main__":
    main()
