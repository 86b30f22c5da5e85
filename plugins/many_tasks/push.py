"""Push of one model of several tasks: all tasks that are required must be blessed."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts.evaluation import SIZES, Blessing, Evaluation, Metrics
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel, TaskExamples
from components.dsl.artifact import Artifact
from components.dsl.component import Input, Local, Output, component
from components.dsl.errors import Refusal
from components.push import describe_refusal, place_files, read_schema, staged_version, write_files
from components.scoring.model_card import calibration_lines, format_row, remarks_of, unit_of
from components.sources.checkpoint import CheckpointOrigin
from components.text.escaping import escape_markdown
from keras_bert.core.folders import EXPORT_FILE, METRICS_FILE

logger = logging.getLogger(__name__)


@component(libraries=("ai-edge-litert", "onnx", "onnxruntime", "tokenizers"))
def push_together(
    edges: Input[list[EdgeModel]],
    evaluations: Input[list[Evaluation]],
    blessings: Input[list[Blessing]],
    examples: Input[list[TaskExamples]],
    pushed: Output[Pushed],
    names: tuple[str, ...],
    folder: str,
    name: str,
    optional: tuple[str, ...] = (),
    checkpoint: CheckpointOrigin | None = None,
    root: Local[str] = "",
) -> None:
    """Copies the files of all tasks into the next numbered folder of `folder`, see `components.push`.

    `metrics.json` and `schema.json` have a table for each task. The tasks `optional` may miss their limits.

    Raises:
        Refusal: a task that is required is not blessed.
    """
    from keras_bert.clients.golden import add_calibrated_answers, drop_absent_files
    from keras_bert.clients.page import write_tokenizers
    from keras_bert.clients.self_test import write_self_test

    decisions = {name: blessing.read() for name, blessing in zip(names, blessings, strict=True)}
    failed = {name: describe_refusal(decision) for name, decision in decisions.items() if not decision.blessed}
    if required := [f"{name}: {failed[name]}" for name in failed if name not in optional]:
        raise Refusal(f"not pushed, because not all tasks were blessed: {'. '.join(required)}")
    for task, reason in failed.items():
        logger.warning("%s, which is not required, misses its limits: %s", task, reason)
    target = Path(root, folder).absolute()
    tables = {name: evaluation.read_json(METRICS_FILE) for name, evaluation in zip(names, evaluations, strict=True)}
    # The evaluations of all tasks keep the files of one seed.
    edge = edges[evaluations[0].read().kept]
    parts: dict[str, Sequence[Artifact]] = {"evaluation": evaluations, "examples": examples}
    made_of = {"edge_model": edge.fingerprint()} | {
        f"{kind} of {name}": artifact.fingerprint()
        for kind, artifacts in parts.items()
        for name, artifact in zip(names, artifacts, strict=True)
    }
    schemas = [read_schema(*pair) for pair in zip(examples, evaluations, strict=True)]
    with staged_version(target) as staging:
        write_files(staging, edge, {"tasks": tables}, {"tasks": dict(zip(names, schemas, strict=True))}, made_of)
        drop_absent_files(staging)
        add_calibrated_answers(staging)
        write_self_test(staging)
        write_tokenizers(staging)

        def write_card(version: int) -> None:
            card = render_card(name, version, tables, staging, failed, checkpoint)
            (staging / "README.md").write_text(card, encoding="utf-8")

        place_files(staging, target, write_card, made_of, pushed, is_absolute=os.path.isabs(folder))


def render_card(
    name: str,
    version: int,
    tables: Mapping[str, Any],
    folder: Path,
    failed: Mapping[str, str],
    checkpoint: CheckpointOrigin | None,
) -> str:
    """The card as Markdown: the files, and the table of each task; `failed` has why tasks missed their limits."""
    records = json.loads((folder / EXPORT_FILE).read_text(encoding="utf-8"))
    files = "".join(
        f"- `{file}`: weights {record['weights']}, {record['bytes'] / 1e6:.2f} MB, "
        f"up to {', '.join(map(str, record['lengths']))} tokens\n"
        for file, record in records.items()
        if (folder / file).is_file()
    )
    start = (
        f" The encoder started from `{checkpoint.address}`." if checkpoint is not None and checkpoint.address else ""
    )
    sections = (_describe_task(task, Metrics.from_json(table), failed.get(task, "")) for task, table in tables.items())
    return f"""# {escape_markdown(name)}, version {version}

{len(tables)} tasks on one encoder: {", ".join(f"`{task}`" for task in tables)}.{start} The signatures `serve_...` of a
`.tflite` file answer all tasks, and those such as `{min(tables)}_...` one; an `.onnx` file has an output for each task.
`keras-bert-edge predict . --task {min(tables)} TEXT` prints the answers of one.

## Files

{files}- `vocab.txt`, `tokenizer.json`, `task.json`: how text becomes ids, and outputs become answers
- `golden.json`: texts with the ids, numbers and answers of each task that an app has to get
- `metrics.json`: all figures of each task; `export.json`: how the files were made

Milliseconds are the median for one row of all tasks on one thread of the machine that made the files.
{"".join(sections)}"""


def _describe_task(name: str, metrics: Metrics, failed: str) -> str:
    names = metrics.metric_names
    rows = (f"| {' | '.join([model, *format_row(row, names)])} |\n" for model, row in metrics.models.items())
    remarks = [f"warning: {warning}" for warning in metrics.warnings] + remarks_of(metrics)
    remarks += calibration_lines(metrics.calibration) if metrics.calibration else []
    remarks += [f"This task misses its limits, and is not required: {failed}"] if failed else []
    notes = "".join(f"- {escape_markdown(remark)}\n" for remark in remarks)
    return f"""
## {name}

A task of the kind `{metrics.task}`; {metrics.rows["test"]} test rows, {unit_of(names)}. The file that is pushed is
`{metrics.shipped}`.

| model | {" | ".join([*names, *SIZES.values()])} |
| --- |{" --- |" * (len(names) + len(SIZES))}
{"".join(rows)}
{notes}"""
