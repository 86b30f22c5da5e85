"""`describe`: shows the description inside of a model file."""

import argparse
import json
import sys

from rich.console import Console

from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, Command
from pipeline.views.delegates import read_delegates, show_delegates
from pipeline.views.description import read_description, show_description


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=absolute_path, help="a .tflite or .onnx file of a pushed version")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.add_argument(
        "--delegates",
        action="store_true",
        help="which operations of a .tflite file NNAPI, GPU and Core ML delegates take, by their published lists",
    )


def _run(options: argparse.Namespace, console: Console) -> int:
    content = read_description(options.file)
    delegates = read_delegates(options.file) if options.delegates else {}
    if delegates:
        content["delegates"] = delegates
    if options.json:
        sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    else:
        show_description(content, console)
        if delegates:
            show_delegates(delegates, console)
    return DONE


DESCRIBE = Command(
    name="describe",
    purpose="show the description inside of a model file",
    example="describe runs/pushed/reviews/1/model.tflite --json",
    add_arguments=_add_arguments,
    run=_run,
)
