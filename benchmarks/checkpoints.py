"""Compares checkpoints with the files of the hub's most used encoders with transformers and sentence-transformers.

    python -m benchmarks.checkpoints --transformers-python PATH [--only PATTERN] [--folder FOLDER]

PATH is an interpreter with torch, transformers, sentence-transformers and sentencepiece. It writes a folder for each
shape of `benchmarks.harness.hub_shapes`: the configuration, the kind of tokenizer and the module files of a checkpoint,
with 2 layers of random weights; and what it makes of 19 texts and 5 pairs. `from_hugging_face` reads the same folder:
token ids must be equal, and vectors, hidden states or logits within 5e-5; otherwise the answer is wrong.
"""

import argparse
import logging
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from keras import ops
from rich.console import Console
from rich.table import Table

from benchmarks.harness.hub_shapes import PAIRS, TEXTS, HubShape, read_shapes
from benchmarks.harness.processes import watch
from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.models.encoder import config_of
from keras_bert.tasks.base import Task

TOLERANCE = 5e-5
EQUAL, REFUSED, WRONG = "equal", "refused", "wrong"


class ComparedFolder(NamedTuple):
    """What becomes of a folder; `detail` says why it is refused or what differs, and `lines` what was logged."""

    shape: HubShape
    result: str
    detail: str = ""
    lines: tuple[str, ...] = ()


class LineKeeper(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a line."""
        self.lines.append(record.getMessage())


def main() -> None:
    """Prints what loads and is equal, what is refused and why, and what is wrong, by family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transformers-python", required=True)
    parser.add_argument("--only", default="", help="a pattern of names and families")
    parser.add_argument("--folder", type=Path, help="where to keep the folders")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = options.folder or Path(temporary)
        arguments = [str(root), options.only]
        versions = watch("benchmarks.peers.hub_folders", arguments, options.transformers_python).answer["versions"]
        outcomes = [judge(shape, root / shape.name) for shape in read_shapes() if (root / shape.name).is_dir()]
    print_outcomes(outcomes, versions)


def judge(shape: HubShape, folder: Path) -> ComparedFolder:
    """Reads a folder and compares what it answers."""
    handler = LineKeeper()
    logging.getLogger("keras_bert").addHandler(handler)
    try:
        task = from_hugging_face(folder)
    except (OSError, ValueError) as error:
        return ComparedFolder(shape, REFUSED, " ".join(str(error).replace(f"{folder}/", "").split()))
    finally:
        logging.getLogger("keras_bert").removeHandler(handler)
    lines = tuple(line.replace(f"{folder}/", "") for line in handler.lines)
    if not (folder / "answers.npz").is_file():
        return ComparedFolder(shape, WRONG, f"read as {task.name}; {(folder / 'refused.txt').read_text()[:300]}", lines)
    difference = find_difference(task, dict(np.load(folder / "answers.npz")))
    return ComparedFolder(shape, WRONG if difference else EQUAL, difference, lines)


def find_difference(task: Task, answers: dict[str, Any]) -> str:
    """The first answer that is not the expected one; empty if all are."""
    texts: list[Any] = [(text, None) for text in TEXTS] + ([] if "vectors" in answers else list(PAIRS))
    rows = []
    texts = [text for index, text in enumerate(texts) if f"ids_{index}" in answers]
    first = len(TEXTS) + len(PAIRS) - len(texts) if "vectors" not in answers else 0
    for index, (text, pair) in enumerate(texts, first):
        pairs = None if pair is None else [pair]
        row = task.tokenizer.encode([text], pairs, max_length=task.max_length, pad_to_longest=True)
        rows.append({name: np.asarray(array)[0] for name, array in row.items()})
        if rows[-1]["token_ids"].tolist() != answers[f"ids_{index}"].tolist():
            return f"ids of {(text, pair)}: {rows[-1]['token_ids'].tolist()}, not {answers[f'ids_{index}'].tolist()}"
    if "vectors" in answers:
        prompt = {"prompt": "query"} if answers["prompted"] else {}
        return compare("vectors", task.predict(list(TEXTS), **prompt), answers["vectors"])
    if "scores" in answers:
        scores = task.predict([first for first, _ in PAIRS], [second for _, second in PAIRS])
        return compare("scores", np.array(scores, "float32").reshape(-1), answers["scores"].reshape(-1))
    variant = config_of(task.model).variant
    width = None if variant is not None and variant.depends_on_padding else max(len(row["token_ids"]) for row in rows)
    batches = [rows] if width else [[row] for row in rows]
    outputs = [output for batch in batches for output in run(task, batch, width)]
    for index, (row, output) in enumerate(zip(rows, outputs, strict=True), first):
        for name, values in output.items():
            expected = answers.get(f"{name}_{index}")
            if expected is None:
                continue
            length = len(row["token_ids"])
            ours = values[:length] if expected.ndim > 1 or len(expected) == length != values.shape[0] else values
            difference = compare(f"{name} of {texts[index - first]}", ours, expected[: len(ours)])
            if difference:
                return difference
        if not any(f"{name}_{index}" in answers for name in output):
            return f"read as {task.name}, which has {list(output)}, as {answers['class']}"
    return ""


def run(task: Task, rows: list[dict[str, Any]], width: int | None) -> list[dict[str, Any]]:
    """The outputs of rows, by their names in transformers."""
    width = width or len(rows[0]["token_ids"])
    fill = {"token_ids": task.tokenizer.pad_id}
    batch = {
        name: np.stack(
            [np.pad(row[name], (0, width - len(row[name])), constant_values=fill.get(name, 0)) for row in rows]
        )
        for name in rows[0]
    }
    batch["mask_positions"] = np.tile(np.arange(width, dtype="int32"), (len(rows), 1))
    outputs = task.model({spec.name: batch[spec.name] for spec in task.model.inputs})
    if not isinstance(outputs, dict):
        outputs = {"logits": outputs}
        if task.name == "question_answering":
            outputs = {"start_logits": outputs["logits"][..., 0], "end_logits": outputs["logits"][..., 1]}
    names = {"sequence_output": ["last_hidden_state"], "masked_tokens": ["logits", "prediction_logits"]}
    arrays = {
        theirs: np.asarray(ops.convert_to_numpy(outputs[name]))
        for name in outputs
        for theirs in names.get(name, [name])
    }
    return [{name: array[index] for name, array in arrays.items()} for index in range(len(rows))]


def compare(what: str, ours: Any, expected: Any) -> str:
    """How two arrays differ; empty if they are within the tolerance."""
    if ours.shape != expected.shape:
        return f"{what}: shape {ours.shape}, not {expected.shape}"
    largest = float(np.max(np.abs(ours - expected), initial=0))
    return f"{what}: differ by {largest:.2g}" if not largest <= TOLERANCE else ""


def print_outcomes(outcomes: list[ComparedFolder], versions: str) -> None:
    """Prints counts by family, then each checkpoint that is not equal, and what was logged of the others."""
    console, counts = Console(soft_wrap=True), Counter((one.shape.model_type, one.result) for one in outcomes)
    table = Table("family", EQUAL, REFUSED, WRONG, title=versions)
    for family in dict.fromkeys(one.shape.model_type for one in outcomes):
        table.add_row(family, *(str(counts[family, result]) for result in (EQUAL, REFUSED, WRONG)))
    table.add_row("all", *(str(sum(one.result == result for one in outcomes)) for result in (EQUAL, REFUSED, WRONG)))
    for result in (EQUAL, REFUSED, WRONG):
        for one in outcomes:
            if one.result == result and (one.detail or one.lines):
                console.print(f"{result} | {one.shape.name} | {one.detail or '; '.join(one.lines)}", markup=False)
    console.print(table)


if __name__ == "__main__":
    main()
