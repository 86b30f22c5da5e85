"""What may be typed on the command line."""

import argparse
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from pipeline.comparison.contenders import TASK_KEYS

PROGRAM = "keras-bert-edge"

Command = Callable[[argparse.Namespace, Console], int]


def make_parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The whole of it.

    Args:
        commands: verb -> what runs it, given the options and where to draw; gives the exit status.
    """
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="From text, or a checkpoint, to a small, fast, measured BERT on a device.",
        epilog="exit status: 0 done, 1 a step failed, 2 bad input, 3 the model was not blessed, or a limit cannot be "
        "met, 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version(PROGRAM)}")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, purpose: str, example: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=purpose, description=purpose, epilog=f"example: {PROGRAM} {example}")

    run = add("run", "run the pipeline; what is finished and unchanged is not run again", "run reviews.toml --seeds 3")
    run.add_argument("settings", nargs="?", type=_path, help="a TOML file; the default job without it")
    run.add_argument("--to", metavar="STEP", help="run this step and those that it needs, no others")
    run.add_argument(
        "--from",
        dest="since",
        metavar="STEP",
        help="run it and all that follow again; those before must be done",
    )
    run.add_argument(
        "--force", action="append", default=[], metavar="STEP", help="run this step again even if nothing has changed"
    )
    run.add_argument("--dry-run", action="store_true", help="tell which steps would run, and why, and run none")
    run.set_defaults(command=commands["run"])
    compare = add(
        "compare",
        "train variants under one budget, and measure them on the same tasks over seeds, without students or files",
        "compare base.toml spans.toml --flops 2e14 --task sst2.toml --task wnut17.toml --seeds 3",
    )
    compare.add_argument("settings", nargs="+", type=_path, help="a TOML file for each variant, the baseline first")
    compare.add_argument(
        "--task",
        action="append",
        default=[],
        type=_path,
        metavar="FILE",
        help=f"a TOML file that is laid over each variant: {', '.join(TASK_KEYS)}; else their own [examples]",
    )
    compare.add_argument("--flops", type=float, metavar="N", help="what each variant may spend on pre-training")
    compare.add_argument(
        "--minutes", type=float, metavar="N", help="the same as time on this machine, measured once before"
    )
    compare.add_argument("--name", help="files go to ROOT/compared/NAME (default: the baseline's name)")
    compare.set_defaults(command=commands["compare"])
    ladder = add(
        "ladder",
        "measure what student, pruning and quantization of a job cost, alone and on top of one another",
        "ladder reviews.toml --seeds 3",
    )
    ladder.add_argument("settings", type=_path, help="a TOML file with one or more of these tables")
    ladder.set_defaults(command=commands["ladder"])
    doctor = add(
        "doctor",
        "tell which layers of a job's model rounding hurts, and what leaving them float gains and costs",
        "doctor reviews.toml --fix 0.3",
    )
    doctor.add_argument("settings", type=_path, help="a TOML file with a [quantization]")
    doctor.add_argument(
        "--fix", type=float, metavar="POINTS", help="find the fewest layers to leave float, so that it costs no more"
    )
    doctor.set_defaults(command=commands["doctor"])
    small = add(
        "shrink",
        "find the best small model of a job within limits of size and time, and push it; a search that was stopped "
        "goes on when the same command is typed again",
        "shrink reviews.toml --max-megabytes 3 --max-milliseconds 2 --min-share 0.96 --minutes 60",
    )
    small.add_argument("settings", type=_path, help="a TOML file with [examples]")
    small.add_argument("--max-megabytes", type=float, metavar="N", help="of model.tflite, 10^6 bytes each")
    small.add_argument(
        "--max-milliseconds",
        type=float,
        metavar="N",
        help="for a text of max_length tokens, on one thread of this machine",
    )
    small.add_argument(
        "--min-share",
        type=float,
        default=0.95,
        metavar="N",
        help="share of the teacher's validation score to keep (default: 0.95)",
    )
    small.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        metavar="N",
        help="for the search (default: 60); the teacher's own training, which a run shares, is not counted",
    )
    small.set_defaults(command=commands["shrink"])
    for command in (run, compare, ladder, doctor, small):
        command.add_argument("--seeds", type=int, metavar="N", help="how many seeds (short for --set seeds=N)")
        command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting")
    status = add("status", "show runs and artifacts", "status --root runs")
    status.set_defaults(command=commands["status"])
    why = add("why", "tell what has changed since the last run, so that a step ran", "why fine_tune")
    why.add_argument("step", help="as `run` and `status` call it")
    why.add_argument("--run", type=int, metavar="N", help="of this run (default: the newest that has the step)")
    why.set_defaults(command=commands["why"])
    lineage = add(
        "lineage",
        "show all that a file came from, down to your own files",
        "lineage runs/pushed/reviews/1/model.tflite --json",
    )
    lineage.add_argument("file", type=_path, help="a pushed file, also a copy; a pushed folder; or an artifact")
    lineage.add_argument("--json", action="store_true", help="as PROV-JSON of the W3C")
    lineage.set_defaults(command=commands["lineage"])
    diff = add("diff", "compare settings and scores of two runs", "diff 3 4")
    diff.add_argument("one", type=int, metavar="RUN", help="its number")
    diff.add_argument("other", type=int, metavar="RUN", help="the number of the other")
    diff.set_defaults(command=commands["diff"])
    gc = add("gc", "remove artifacts and logs that neither kept runs nor pushed versions need", "gc --keep 3 --dry-run")
    gc.add_argument("--keep", type=int, default=1, metavar="N", help="newest runs of each pipeline (default: 1)")
    gc.add_argument("--dry-run", action="store_true", help="tell what would be removed, and remove nothing")
    gc.set_defaults(command=commands["gc"])
    report = add(
        "report",
        "write one page about a run, which needs no network: its steps, data, trainings, scores and worst answers",
        "report 3 --out page.html",
    )
    report.add_argument("run", nargs="?", type=int, metavar="RUN", help="a number of status (default: the newest run)")
    report.add_argument("--out", type=_path, metavar="FILE", help="where to (default: ROOT/reports/RUN.html)")
    report.add_argument(
        "--mlflow", metavar="URI", help="send the run to this store of MLflow, too, its pushed model as a pyfunc"
    )
    report.set_defaults(command=commands["report"])
    for command in (run, compare, ladder, doctor, small, status, why, lineage, diff, gc, report):
        command.add_argument("--root", type=_path, default="runs", help="where artifacts live (default: runs)")
    inspect = add(
        "inspect", "show the statistics of an artifact", "inspect runs/artifacts/ingest_corpus/corpus-0123456789ab"
    )
    inspect.add_argument("folder", type=_path, help="an artifact, such as runs/artifacts/mask_examples/examples-...")
    inspect.set_defaults(command=commands["inspect"])
    describe = add(
        "describe", "show what a model's file says of itself", "describe runs/pushed/reviews/1/model.tflite --json"
    )
    describe.add_argument("file", type=_path, help="a .tflite or .onnx file of a pushed version")
    describe.add_argument("--json", action="store_true", help="all that it says, as JSON")
    describe.set_defaults(command=commands["describe"])
    bench = add(
        "bench",
        "tell how long exported files take to open and to answer, and the memory for it, side by side. Linux tells "
        "memory; where the time goes ONNX Runtime tells, and LiteRT's Python package does not",
        "bench runs/pushed/reviews/1/model.tflite runs/pushed/reviews/1/model.onnx --lengths 32 128",
    )
    bench.add_argument("files", nargs="*", type=_path, metavar="FILE", help="a .tflite or .onnx file from here")
    bench.add_argument(
        "--lengths",
        nargs="+",
        type=int,
        default=[],
        metavar="N",
        help="tokens of the rows (default: those of the .tflite files' signatures)",
    )
    bench.add_argument(
        "--threads", nargs="+", type=int, default=[], metavar="N", help="of an answer (default: 1, 2 and 4)"
    )
    bench.add_argument("--answers", type=int, default=200, metavar="N", help="timed for a figure (default: 200)")
    bench.add_argument(
        "--operations", action="store_true", help="also show which operations of .onnx files take how long"
    )
    bench.add_argument("--json", type=_path, metavar="FILE", help="write all figures there")
    bench.add_argument(
        "--adb",
        action="store_true",
        help="measure .tflite files on the connected phone, by LiteRT's benchmark_model in /data/local/tmp",
    )
    bench.set_defaults(command=commands["bench"])
    predict = add("predict", "ask a pushed model", 'predict runs/pushed/reviews/1 "A film to remember."')
    predict.add_argument("folder", type=_path, help="a pushed version, such as runs/pushed/reviews/1, or a file of one")
    predict.add_argument("texts", nargs="+", metavar="TEXT", help="a text, or a question")
    predict.add_argument(
        "--second",
        action="append",
        metavar="TEXT",
        help="a pair's second text, or a question's context",
    )
    predict.set_defaults(command=commands["predict"])
    return parser


def _path(text: str) -> Path:
    """A path as the user means it, whatever the working directory is later."""
    return Path(text).expanduser().absolute()
