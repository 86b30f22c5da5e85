"""`emulate`: the outputs of exported files on emulated processors, beside those of this machine."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click
from rich.console import Console

from components.dsl.errors import InputError
from keras_bert.core.folders import hint_of_versions
from pipeline.commands.command import DONE, REFUSED, PathOrAddress, Verb
from plugins.processors.emulators import AARCH64_FOLDER, DEFAULT_PROCESSORS, MAX_DIFFERENCE, PROCESSORS, check_processor

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@click.command(cls=Verb, goal="Use a model", example="emulate runs/pushed/reviews/1 --processor haswell")
@click.argument(
    "model", metavar="MODEL", type=PathOrAddress(), help="A pushed folder, or a .tflite or .onnx file of one."
)
@click.option(
    "--processor",
    "processors",
    multiple=True,
    type=click.Choice([*PROCESSORS]),
    metavar="NAME",
    help=f"One of {', '.join(PROCESSORS)}; may be repeated. Default: {' and '.join(DEFAULT_PROCESSORS)}.",
)
@click.option(
    "--max-difference",
    type=click.FloatRange(0, 1, min_open=True),
    default=MAX_DIFFERENCE,
    show_default=True,
    help="The limit of the difference of the median text, as a share of the range of the outputs.",
)
@click.option(
    "--aarch64",
    default=AARCH64_FOLDER,
    show_default=True,
    help="The folder of a Python for aarch64; an error names the command that makes one.",
)
def emulate_command(options: SimpleNamespace, console: Console) -> int:
    """Compare what files answer here and on emulated processors.

    A few texts of the library are answered. The exit status is 3 if one file differs by more than the limit in half of
    them.
    """
    from keras_bert.export.bundle import load_exported
    from pipeline.views.tables import Table
    from pipeline.views.terminal import native_logs_hidden
    from plugins.processors.emulated import emulated
    from plugins.processors.measure_processors import choose_files
    from plugins.processors.settings import NAMES

    processors = options.processors or DEFAULT_PROCESSORS
    for processor in processors:
        check_processor(processor, options.aarch64)
    is_folder = options.model.is_dir()
    folder = options.model if is_folder else options.model.parent
    if is_folder and not any((folder / name).is_file() for name in NAMES):
        hint = hint_of_versions(folder)
        raise InputError(f"MODEL must be a pushed folder with a .tflite or .onnx file, got {folder}, without one{hint}")
    files = choose_files(folder, ()) if is_folder else [options.model.name]
    if Path(files[0]).suffix not in (".tflite", ".onnx"):
        raise InputError(f"MODEL must be a folder, or a .tflite or .onnx file, got {options.model}")
    cells, differs = [], False
    with native_logs_hidden():
        for file in files:
            for processor in processors:
                try:
                    task = load_exported(folder / file)
                except (OSError, ValueError) as error:
                    raise InputError(f"MODEL must be a pushed model, got an error: {error}") from None
                with emulated(task, folder / file, processor, options.aarch64) as emulator:
                    _answer(task)
                is_beyond = emulator.difference > options.max_difference
                differs |= is_beyond
                verdict = "differs" if is_beyond else "as here"
                shares = [f"{100 * share:.2g} %" for share in (emulator.difference, emulator.largest_difference)]
                cells.append([file, processor, *shares, verdict])
    Table(["file", "processor", "median difference", "largest", "verdict"], cells, justify="left").show(console)
    return REFUSED if differs else DONE


def _answer(task: "Task") -> None:
    """Runs a file on the library's sample texts; in a batch each, as the ranges of some files are those of a batch."""
    from keras_bert.export.sample_texts import SECONDS, TEXTS

    seconds = SECONDS if task.second_text == "required" else [None] * len(TEXTS)
    for text, second in zip(TEXTS, seconds, strict=True):
        pair = None if second is None else [second]
        task.model.predict_on_batch(
            task.tokenizer.encode([text], pair, max_length=task.max_length, pad_to_longest=True)
        )
