"""`describe`: what is inside model files, and how fast they are."""

import json
import sys
from types import SimpleNamespace

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, REFUSED, PathOrAddress, Verb, json_option, refresh_option, refuse_options


@click.command(cls=Verb, example="describe model.tflite model.onnx --time --length 32 --length 128")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=PathOrAddress(),
    metavar="FILE...",
    help="A .tflite or .onnx file, or a folder of a plug-in's format, as pushed.",
)
@click.option(
    "--accelerators",
    is_flag=True,
    help="Ask the compilers and engines of accelerators that plug-ins know what they take of a .tflite file.",
)
@click.option(
    "--chip",
    multiple=True,
    metavar="NAME",
    help="With --accelerators: a chip or an engine; may be repeated. Default: one or a few of each plug-in.",
)
@click.option("--time", is_flag=True, help="Measure time and memory of the files, side by side, instead.")
@click.option(
    "--length",
    multiple=True,
    type=int,
    metavar="N",
    help="With --time: tokens of an input; may be repeated. Default: those of the signatures of the .tflite files.",
)
@click.option(
    "--threads",
    multiple=True,
    type=int,
    metavar="N",
    help="With --time: a number of threads; may be repeated. Default: 1, 2 and 4.",
)
@click.option("--answers", type=int, metavar="N", help="With --time: inferences per figure. Default: 200.")
@click.option(
    "--operations",
    is_flag=True,
    help="With --time: also profile the operations of .onnx files (LiteRT's Python package has no profiler).",
)
@click.option(
    "--adb",
    is_flag=True,
    help="With --time: measure .tflite files on the phone that adb finds, with LiteRT's benchmark_model in "
    "/data/local/tmp.",
)
@refresh_option
@json_option
def describe_command(options: SimpleNamespace, console: Console) -> int:
    """Show what model files say of themselves, or measure their time.

    A file of a pushed folder runs the self-test of the folder: the exit status is 3 if a part is wrong. Each
    measurement runs in its own process. Memory is measured on Linux only.
    """
    if options.time:
        refuse_options(options, ["accelerators"], "with --time")
        return _measure(options, console)
    from pipeline.views.description import (
        accelerators_table,
        read_accelerators,
        read_description,
        run_self_test,
        show_description,
    )

    if not options.accelerators:
        refuse_options(options, ["chip"], "without --accelerators")
    refuse_options(options, ["length", "threads", "answers", "operations", "adb"], "without --time")
    if options.json and len(options.files) > 1:
        raise InputError(f"FILE must be one file with --json, got {len(options.files)}")
    status = DONE
    for file in options.files:
        content = read_description(file)
        if tested := run_self_test(file):
            content["self_test"] = tested
            status = status if tested == "passes" else REFUSED
        covered = read_accelerators(file, options.chip) if options.accelerators else {}
        if covered:
            content["accelerators"] = covered
        if options.json:
            sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
            continue
        show_description(content, console)
        if covered:
            accelerators_table(covered).show(console)
    return status


def _measure(options: SimpleNamespace, console: Console) -> int:
    from pipeline.bench.files import BenchOptions, bench
    from pipeline.bench.phone import bench_on_phone
    from pipeline.views.bench import bench_tables, phone_table

    measure = bench_on_phone if options.adb else bench
    lengths, threads = (tuple(dict.fromkeys(values)) for values in (options.length, options.threads))
    answers = 200 if options.answers is None else options.answers
    content = measure(
        options.files,
        BenchOptions(
            lengths=lengths, threads=threads, answers=answers, operations=options.operations, here=not options.adb
        ),
    )
    if options.json:
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
    else:
        for table in [phone_table(content)] if options.adb else bench_tables(content):
            table.show(console)
    return DONE
