"""`bench`: measures exported files."""

import argparse
import json

from rich.console import Console

from components.dsl.errors import InputError
from pipeline.bench.files import BenchOptions, bench
from pipeline.bench.phone import bench_on_phone
from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, Command
from pipeline.views.bench import show_bench
from pipeline.views.bench_on_phone import show_bench_on_phone
from pipeline.views.reports import check_output


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", type=absolute_path, metavar="FILE", help="a .tflite or .onnx file of a pushed version"
    )
    parser.add_argument(
        "--lengths",
        nargs="+",
        type=int,
        default=[],
        metavar="N",
        help="lengths of the inputs in tokens (default: those of the signatures of the .tflite files)",
    )
    parser.add_argument(
        "--threads", nargs="+", type=int, default=[], metavar="N", help="numbers of threads (default: 1, 2 and 4)"
    )
    parser.add_argument(
        "--answers", type=int, default=200, metavar="N", help="inferences per figure (default: %(default)s)"
    )
    parser.add_argument(
        "--operations",
        action="store_true",
        help="also profile the operations of .onnx files (LiteRT's Python package has no profiler)",
    )
    parser.add_argument("--json", type=absolute_path, metavar="FILE", help="also write all figures to this file")
    parser.add_argument(
        "--adb",
        action="store_true",
        help="measure .tflite files on the phone that adb finds, with LiteRT's benchmark_model in /data/local/tmp",
    )


def _run(options: argparse.Namespace, console: Console) -> int:
    if not options.files:
        raise InputError("bench must be given at least one FILE, got none")
    if options.json is not None:
        check_output("--json", options.json)
    measure, show = (bench_on_phone, show_bench_on_phone) if options.adb else (bench, show_bench)
    lengths, threads = (tuple(dict.fromkeys(values)) for values in (options.lengths, options.threads))
    content = measure(
        options.files,
        BenchOptions(
            lengths=lengths,
            threads=threads,
            answers=options.answers,
            operations=options.operations,
            here=not options.adb,
        ),
    )
    show(content, console)
    if options.json is not None:
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return DONE


BENCH = Command(
    name="bench",
    purpose="measure time and memory of model files, side by side",
    details="Each measurement runs in its own process. Memory is measured on Linux only.",
    example="bench runs/pushed/reviews/1/model.tflite runs/pushed/reviews/1/model.onnx --lengths 32 128",
    add_arguments=_add_arguments,
    run=_run,
)
