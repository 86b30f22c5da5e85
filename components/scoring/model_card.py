"""The model card of a pushed folder: task, scores, size and latency."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.evaluation import SIZES, MeasuredModel, Metrics, SeedScores
from components.examples.overlap import describe_overlap
from components.examples.registry import TASK_ROWS
from components.scoring.base import IN_LABEL_UNITS
from components.scoring.card_metadata import render_metadata
from components.scoring.registry import TASK_SCORING
from components.scoring.slices import describe_slice, worst_slices
from components.text.escaping import escape_markdown
from keras_bert.core.folders import (
    ACCELERATORS_FOLDER,
    CHARACTERS_FILE,
    COVERAGE_FILE,
    EXPORT_FILE,
    MEDIAPIPE_FILE,
    METRICS_FILE,
    PAGE_FILE,
    SUBWORDS_FILE,
    TASK_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    TOKENIZER_FILE,
    TOKENIZERS_FOLDER,
    VOCABULARY_FILE,
)
from keras_bert.export.targets.registry import FILES

if TYPE_CHECKING:
    from components.sources.checkpoint import CheckpointOrigin

_SUBWORDS = {
    "BPE": "BPE, as RoBERTa's or Gemma's",
    "Unigram": "unigram, as ALBERT's",
    "WordPiece": "WordPiece, as BERT's with added tokens",
}
# Whether rows are pairs of texts -> their description.
_PAIRS: dict[bool | None, str] = {
    True: (
        "Each row is a pair of texts. A pair that is too long is truncated as by `longest_first` of Hugging Face's\n"
        "fast tokenizers.\n\n"
    ),
    False: "Each row is a single text.\n\n",
    None: "",
}
# Optional files of a version.
EXTRAS = {
    PAGE_FILE: "runs the model in a browser, without a network; open it",
    CHARACTERS_FILE: "the class of each character, for tokenizers in apps",
    SUBWORDS_FILE: "the rules of the tokenizer, for tokenizers in apps",
    TOKENIZERS_FOLDER: "that tokenizer in Kotlin, Swift and JavaScript, to copy",
}


def write_model_card(folder: Path, name: str, version: int, origin: "CheckpointOrigin | None" = None) -> None:
    """Writes `README.md` from the `metrics.json`, `task.json`, `export.json` and tokenizer of a folder.

    `origin` is where the model's checkpoint comes from.
    """
    from keras_bert.clients.page import find_page_obstacle

    content, task, records = (
        json.loads((folder / file).read_text()) for file in (METRICS_FILE, TASK_FILE, EXPORT_FILE)
    )
    metrics = Metrics.from_json(content)
    further = [f"`{file}`: {EXTRAS[file]}" for file in EXTRAS if (folder / file).exists()]
    if (folder / COVERAGE_FILE).is_file():
        covered = json.loads((folder / COVERAGE_FILE).read_text())
        chips = (describe_coverage(name, chip) for name, chip in covered.items())
        further.append(f"`{ACCELERATORS_FOLDER}/`: compiled for, or tried on {', '.join(chips)}")
    if not (folder / PAGE_FILE).is_file():
        further.append(f"no `{PAGE_FILE}`: {find_page_obstacle(folder)}")
    tokenizer = _describe_tokenizer(folder)
    start = f" It started from `{origin.address}`." if origin is not None and origin.address else ""
    card = render_model_card(name, version, metrics, task, records, further, tokenizer, start)
    card = render_metadata(name, task["task"], metrics, records, origin) + card
    (folder / "README.md").write_text(card, encoding="utf-8")


def describe_coverage(name: str, coverage: Mapping[str, Any]) -> str:
    """What an accelerator says of a file, for people: `keras_bert.accelerators.base.Coverage` as a dictionary."""
    figures = (f"{label}: {value:g}" for label, value in coverage["figures"].items())
    remarks = [f"{coverage['taken']} of {coverage['operations']} operations", *figures]
    if coverage["operators"]:
        remarks.append(f"operators to register: {' '.join(coverage['operators'])}")
    return f"{name} ({'; '.join(remarks)})"


def render_model_card(
    name: str,
    version: int,
    metrics: Metrics,
    task: Mapping[str, Any],
    records: Mapping[str, Mapping[str, Any]],
    further: Sequence[str] = (),
    tokenizer: str = "",
    start: str = "",
) -> str:
    """The card as Markdown (sections after Mitchell et al. 2019, "Model Cards for Model Reporting")."""
    scoring = TASK_SCORING[task["task"]]
    labels: Sequence[str] = task.get("labels", ())
    label_list = f": {', '.join(map(escape_markdown, labels))}" if labels else ""
    shown = {
        file.name: file.card_line.format(**{**entry, "lengths": ", ".join(map(str, entry["lengths"]))})
        for file in FILES
        if (entry := records.get(file.name)) and not (file.name == TFLITE_FLOAT_FILE and TFLITE_FILE in records)
    }
    files = "\n".join(f"- `{file}`: {line}" for file, line in shown.items())
    listed = "".join(f"- {line}\n" for line in further)
    names, seeds = metrics.metric_names, len(metrics.score.seeds)
    pairs = _PAIRS[task.get("pairs")]
    over = f" Scores are the mean and the standard deviation over {seeds} seeds." if seeds > 1 else ""
    warnings = (f"warning: {warning}" for warning in metrics.warnings)
    remarks = "".join(f"\n- {escape_markdown(line)}" for line in [*warnings, *remarks_of(metrics)])
    remarks += "\n" if remarks else ""
    worst = worst_slices(metrics.slices, metrics.rows["test"])
    head = f"The worst parts of the test rows: {metrics.metric} of `{metrics.shipped}`, x 100, with 95 % intervals."
    slices = "".join(f"- {escape_markdown(describe_slice(one))}\n" for one in worst)
    slices = f"\n{head}\n\n{slices}" if worst else ""
    table = "\n".join(f"| {' | '.join([model, *format_row(row, names)])} |" for model, row in metrics.models.items())
    return f"""# {escape_markdown(name)}, version {version}

A {scoring.model_kind}{label_list}. Inputs hold up to {task["max_length"]} tokens.{start}

## Files

{files}
- `vocab.txt`, `tokenizer.json`, `task.json`: how text becomes ids, and outputs become answers
{listed}- `golden.json`: texts with the ids, numbers and answers that an app has to get
- `metrics.json`: all figures; `export.json`: how the files were made

## Inputs and output

{tokenizer}{pairs}`token_ids`, `padding_mask` and, of models that tell segments apart, `segment_ids`: int32
(batch, length). Padding is 0 in all of them. {scoring.output.format(labels=len(labels))}.
{_describe_thresholds(task)}{_describe_vectors(task)}{_describe_prompts(task)}{_describe_other_ids(records)}
## Quality

On {metrics.rows["test"]} test rows, {unit_of(names)}.{over} `{metrics.shipped}` is what this folder is for.
{_describe_novelty(metrics, TASK_ROWS[task["task"]].plural_name)}
Milliseconds are the median for one row on one thread of the machine that made the files.

| model | {" | ".join([*names, *SIZES.values()])} |
| --- |{" --- |" * (len(names) + len(SIZES))}
{table}
{slices}{remarks}
## Limits

The model knows what its training rows showed it. Rows unlike them get an answer all the same, and its score is no
calibrated probability{_calibration(metrics)}.
"""


def _describe_novelty(metrics: Metrics, plural_name: str) -> str:
    """Describes how many test rows have texts that are also in training or validation rows."""
    clauses = describe_overlap({"test": metrics.overlap["test"]}, metrics.rows, plural_name)
    aside = "white space and letter case aside"
    near = {"test": metrics.near_overlap.get("test", {})}
    clauses += describe_overlap(near, metrics.rows, plural_name, "near")
    if not clauses:
        return f"No training or validation row has the {plural_name} of a test row, {aside}."
    return f"{'; '.join(clauses)} ({aside}): on new {plural_name}\nscores may be lower."


def _describe_tokenizer(folder: Path) -> str:
    definition = json.loads((folder / TOKENIZER_FILE).read_text(encoding="utf-8"))
    pieces = (folder / VOCABULARY_FILE).read_text(encoding="utf-8").count("\n")
    if "lowercase" in definition:
        cases = {False: "with capitals and accents", True: "lowercased and without accents"}
        case = cases.get(definition["lowercase"], "lowercased, with accents")
        kind = f"BERT's WordPiece, {case}"
    else:
        kind = _SUBWORDS.get(definition.get("model", {}).get("type"), "of another kind")
    special = "Special tokens in a text, such as `[MASK]`, are plain text."
    return f"Tokenizer: {kind}, {pieces} vocabulary entries (`{VOCABULARY_FILE}`). {special}\n\n"


def _describe_thresholds(task: Mapping[str, Any]) -> str:
    if "thresholds" not in task:
        return ""
    precision = task.get("label_precision")
    goal = "the best micro F1" if precision is None else f"a precision of {100 * precision:g} %"
    thresholds = ", ".join(
        f"{escape_markdown(label)} {threshold}" for label, threshold in name_thresholds(task).items()
    )
    return f"\nThresholds, chosen on validation rows for {goal}: {thresholds}.\n"


def name_thresholds(task: Mapping[str, Any]) -> dict[str, str]:
    """Returns the threshold of each label with four digits, or `never`; empty for a task without thresholds."""
    pairs = zip(task.get("labels", ()), task.get("thresholds", ()), strict=False)
    return {label: "never" if threshold is None else f"{threshold:.4f}" for label, threshold in pairs}


def _describe_vectors(task: Mapping[str, Any]) -> str:
    if "similarity_function" not in task:
        return ""
    lengths = "Vectors have length 1: inner products are cosines, and Euclidean distances give the same order."
    if not task["normalize"]:
        function = {"dot": "inner product", "cosine": "cosine"}.get(task["similarity_function"])
        function = function or f"{task['similarity_function']} distance"
        lengths = f"Vectors do not have length 1: compare them by {function}."
    space = f" They are of the space `{task['space']}`: compare them with no others." if "space" in task else ""
    return f"\n{lengths}{space}\n"


def _describe_prompts(task: Mapping[str, Any]) -> str:
    quoted = {name: json.dumps(text, ensure_ascii=False) for name, text in sorted(task.get("prompts", {}).items())}
    prompts = [f"{escape_markdown(text)} in front of each {name}" for name, text in quoted.items()]
    return f"\nPut {' and '.join(prompts)}, as the training did.\n" if prompts else ""


def _describe_other_ids(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Describes the share of texts for which MediaPipe's token ids differ from training."""
    share = records.get(MEDIAPIPE_FILE, {}).get("texts_with_other_ids")
    if share is None:
        return ""
    return f"""
MediaPipe keeps accents and characters without width, which the training strips: it makes other ids of
{100 * share:.1f} % of the validation texts, and may answer otherwise there. Give it `plain(text)` of a tokenizer in
`{TOKENIZERS_FOLDER}/`, and the ids are those of the training.
"""


def _calibration(metrics: Metrics) -> str:
    """The end of the sentence on confidence: the temperature, if there is one, and calibration errors."""
    calibration = metrics.calibration
    if calibration is None:
        return ""
    temperature, rows = calibration["temperature"], calibration["validation"]["rows"]
    of = f"{rows} validation answers of `{metrics.shipped}`"
    clause = (
        f": {calibration['no_temperature']},\nso that none is fitted"
        if temperature is None
        else f" until logits are divided by a temperature of {temperature:.4f}, found on {of}\n"
        "(Guo et al. 2017), as `keras-bert-edge predict` does"
    )
    return clause + "".join(f";\n{line}" for line in calibration_lines(calibration))


def calibration_lines(calibration: Mapping[str, Any]) -> list[str]:
    """Returns the calibration errors, x 100, one line each."""
    both = {name: calibration[name]["calibration_error"] for name in ("validation", "test")}
    errors = ", ".join(f"{100 * before:.2f} -> {100 * after:.2f} on {name}" for name, (before, after) in both.items())
    lines = [f"expected calibration error {errors} rows"]
    if "threshold" not in calibration:
        return lines
    goal = f"{100 * calibration['min_precision']:g} % of validation answers right"
    if calibration["threshold"] is None:
        return [*lines, f"no threshold has {goal}"]
    kept, precision = (calibration["test"]["kept"][name] for name in ("share", "precision"))
    right = "" if precision is None else f", of which {100 * precision:.2f} % are right"
    limit = f"not sure below {calibration['threshold']:.4f}, for {goal}"
    return [*lines, f"{limit}: on test rows {100 * kept:.2f} % are above{right}"]


def format_row(model: MeasuredModel, names: Sequence[str]) -> list[str]:
    """The cells of a row of the table: the scores of some metrics, and the sizes."""
    sizes = ("" if size is None else f"{size:.2f}" for size in model.sizes.values())
    return [*(format_score(model.metrics[name], name) for name in names), *sizes]


def format_score(score: SeedScores, metric: str = "") -> str:
    """A mean over seeds, with its standard deviation if there are several: x 100, or an error in the labels' unit."""
    factor, form = (1, ".4g") if metric in IN_LABEL_UNITS else (100, ".2f")
    deviation = "" if score.sd is None else f" ± {factor * score.sd:{form}}"
    return f"{factor * score.mean:{form}}{deviation}"


def unit_of(metrics: Sequence[str]) -> str:
    """Returns the unit of the figures of a table."""
    errors = [name for name in metrics if name in IN_LABEL_UNITS]
    return "x 100" + (f"; {' and '.join(errors)} in the unit of the labels" if errors else "")


def remarks_of(metrics: Metrics) -> list[str]:
    """Returns remarks about missing models, and about the weights of float files, one line each."""
    lines = [f"{name} is left out of the table: {reason}" for name, reason in metrics.left_out.items()]
    # Float files are made from the quantized model, if there is one, so their scores differ from the student's.
    number_type = next((kind for kind in ("int8", "int4") if f"tflite {kind}" in metrics.models), None)
    names = [name for name in ("tflite float32", "onnx float32") if name in metrics.models]
    if number_type is not None and names:
        lines.append(f"{' and '.join(names)}: the weights as they were quantized to {number_type}, written as float32")
    return lines
