"""Compares the speed of embedding a table's texts: `predict --table`, a plain ONNX Runtime loop and PyTorch pipelines.

    python -m benchmarks.batch_answers --table train.tsv --text sentence [--transformers-python PATH]

The model is all-MiniLM-L6-v2 of the default job at up to 128 tokens, in float32; ours also runs in int8. Each
contestant reads the same table and writes a Parquet file in its own process. Times include the imports of
worker processes and the loading of models, but not the imports of the main process. Medians over alternating rounds.

- ours: what `predict --table` runs, with one process a core;
- the plain loop: 32 texts at once in the order of the table, tokenized by Hugging Face's tokenizers and padded to the
  longest, through our `.onnx` file;
- with an interpreter that has torch, transformers, sentence-transformers and pyarrow: `SentenceTransformer.encode`,
  which sorts by length, and transformers' pipeline for features with the mean over tokens, both 32 texts at once.

`a processor second` counts the processor time of all threads and workers, so other load on the machine does not
matter. `least cosine` is the minimum over all rows of the cosine with the vectors of the plain loop. The int8 file was
quantized after training.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from rich.console import Console
from rich.table import Table

from benchmarks.harness.contestants import turns
from benchmarks.harness.processes import Watched, watch
from components.files.tables import read_records
from pipeline.job.files import load_settings

MAX_LENGTH = 128
LOOP = "plain loop over ONNX Runtime"


def main() -> None:
    """Prints rows a second, memory and the least cosine of every contestant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, required=True, help="a table of texts, such as SST-2's train.tsv")
    parser.add_argument("--text", default="sentence", help="the column with the texts")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--transformers-python", help="interpreter for the PyTorch pipelines; without it they are skipped"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_table(race(options, Path(folder)), options)


def race(options: argparse.Namespace, folder: Path) -> dict[str, tuple[list[Watched], float]]:
    """Each contestant's runs, and the least cosine of its vectors to those of the plain loop."""
    table = folder / "table.csv"
    records = zip(read_records(str(options.table), (options.text,)), range(options.rows), strict=False)
    texts = [record.values[0] for record, _ in records]
    options.rows = len(texts)  # fewer where the table is shorter
    csv.write_csv(pa.table({"text": texts}), table)
    checkpoint = load_settings(None).checkpoint
    assert checkpoint is not None
    source = str(checkpoint.folder())
    watch("benchmarks.harness.minilm_files", [source, str(folder), str(MAX_LENGTH), str(table)])
    contestants: dict[str, Callable[[], Watched]] = {}
    for cores in (1, 2):
        for file, name in (("int8.tflite", ".tflite int8"), ("float.tflite", ".tflite"), ("model.onnx", ".onnx")):
            out = folder / f"ours {name} {cores}.parquet"
            arguments = [str(folder / file), str(table), str(out), str(cores)]
            contestants[out.stem] = partial(watch, "benchmarks.harness.our_table", arguments)
        out = folder / f"{LOOP} {cores}.parquet"
        arguments = [source, str(folder / "model.onnx"), str(table), str(out), str(MAX_LENGTH), str(cores)]
        contestants[out.stem] = partial(watch, "benchmarks.harness.onnx_loop", arguments)
        for peer in ("sentence-transformers", "transformers") if options.transformers_python else ():
            out = folder / f"{peer} {cores}.parquet"
            arguments = [peer, source, str(table), str(out), str(MAX_LENGTH), str(cores)]
            module = "benchmarks.peers.sentence_vectors"
            contestants[out.stem] = partial(watch, module, arguments, options.transformers_python)
    runs = turns(contestants, options.rounds, warm_up=0)
    reference = read_vectors(folder / f"{LOOP} 1.parquet")
    cosines = {
        name: float((read_vectors(folder / f"{name}.parquet") * reference).sum(axis=1).min()) for name in contestants
    }
    return {name: (runs[name], cosines[name]) for name in contestants}


def read_vectors(file: Path) -> np.ndarray[Any, Any]:
    """The vectors of an output with length 1 (rows, hidden)."""
    vectors: np.ndarray[Any, Any] = np.array(pq.read_table(file)["vector"].to_pylist(), "float32")
    unit: np.ndarray[Any, Any] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def print_table(results: dict[str, tuple[list[Watched], float]], options: argparse.Namespace) -> None:
    """A line for each contestant, those on one core first."""
    title = f"all-MiniLM-L6-v2, {options.rows} rows, medians of {options.rounds}"
    table = Table("contestant", "cores", "rows a second", "a processor second", "peak MB", "least cosine", title=title)
    for name, (runs, cosine) in results.items():
        times = (statistics.median(run.answer[clock] for run in runs) for clock in ("seconds", "processor"))
        peak = statistics.median(run.peak for run in runs)
        figures = *(f"{options.rows / seconds:.0f}" for seconds in times), f"{peak:.0f}", f"{cosine:.5f}"
        table.add_row(name[:-2], name[-1], *figures)
    versions = {run.answer["versions"]: None for runs, _ in results.values() for run in runs}
    console = Console(width=110)
    console.print(table)
    console.print("; ".join(versions))


if __name__ == "__main__":
    main()
