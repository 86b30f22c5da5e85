"""Shows attributions: the shares of the words of a text for each model, as a table, a page and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from components.answers.model_inputs import check_second
from components.dsl.errors import InputError
from components.objects.mirror import display_path
from keras_bert.core.checks import FieldError
from keras_bert.core.folders import MODEL_FILE, ONNX_FILE, TASK_FILE, TFLITE_FILE
from pipeline.views.tables import Table

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task
    from plugins.explain.attention import Attention
    from plugins.explain.attribution import Attribution
    from plugins.explain.tokens import Tokens

# Above this relative completeness gap of integrated gradients, the order of the words is uncertain.
_LARGE_GAP = 0.05
# The end of the path of a trained model in a root.
_ARTIFACT = re.compile(r"/artifacts/[^/]+/[^/]+-[0-9a-f]{12}$")
# Smaller shares would be shown as 0.000.
_LEAST_SHARE = 0.0005


class ModelReasons(NamedTuple):
    """The reasons of one model for an answer."""

    model: str
    attribution: Attribution
    attention: Attention | None


def models_of(path: Path) -> list[Path]:
    """Returns the models at a path: the `.onnx` and `.tflite` file of a pushed folder, else the path itself."""
    if not path.exists():
        raise InputError(f"MODEL must be a file or a folder that exists, got {path}")
    if path.is_file() or (path / MODEL_FILE).is_file():
        return [path]
    return [path / name for name in (ONNX_FILE, TFLITE_FILE) if (path / name).is_file()] or [path]


def open_model(path: Path) -> Task:
    """Loads a trained model, an exported file, or a folder of transformers."""
    from keras_bert.export.bundle import load
    from keras_bert.interop.hugging_face import from_hugging_face

    is_foreign = (path / "config.json").is_file() and not (path / TASK_FILE).is_file()
    try:
        return from_hugging_face(path) if is_foreign else load(path)
    except (OSError, ValueError) as error:
        raise InputError(str(error)) from None


def choose_parts(tasks: Sequence[Task], name: str | None) -> list[Task]:
    """The tasks that are explained: of models of several the one with a name; models of one task stay as they are."""
    if name is not None and not any(task.has_parts for task in tasks):
        raise InputError(f"--task must be left out for models of one task, got {name}")
    try:
        return [task.part(name or "") if task.has_parts else task for task in tasks]
    except FieldError as error:
        raise InputError(f"--task must {error.rule}, got {name or 'none'}") from None


def explain_text(
    models: Sequence[Path],
    text: str,
    second: str | None = None,
    *,
    target: str | None = None,
    method: str | None = None,
    baseline: Any = None,
    steps: int = 64,
    part: str | None = None,
) -> list[ModelReasons]:
    """Explains an output of the first model with every model, see `plugins.explain.attributions`.

    `second` is the second text of a pair, the context of a question, or the text that an embedding is compared with.
    Without a `method`, it is integrated gradients, or occlusion if one of the models is a file. `part` names the task
    that is explained of models of several.
    """
    from keras_bert.tasks.checks import is_keras_model
    from plugins.explain.attention import attend
    from plugins.explain.attribution import attribute, check_method
    from plugins.explain.explained import ExplainedRow

    tasks = choose_parts([open_model(path) for path in models], part)
    has_files = not all(is_keras_model(task.model) for task in tasks)
    chosen: Any = method or ("occlusion" if has_files else "integrated_gradients")
    explanations: list[ModelReasons] = []
    try:
        for path, task in zip(models, tasks, strict=True):
            if task.name != tasks[0].name:
                raise ValueError(
                    f"--compare-with must be for {tasks[0].name}, like {models[0]}, got {path} for {task.name}"
                )
            check_method(task, chosen, baseline, steps)
            check_second(task, given=second is not None, name="SECOND")
        if tasks[0].second_text == "compared":
            if target is not None:
                raise ValueError(
                    f"--target must be left out for {tasks[0].name}, which compares TEXT with SECOND, got {target!r}"
                )
            if second is None:
                raise ValueError("SECOND must give the text that TEXT is compared with, got none")
            target, second = second, None
        first = ExplainedRow.of(tasks[0], text, target, second)
        if not first.tokens.word_texts:
            raise ValueError(f"TEXT must hold a word that the model reads, got {text!r}")
        for path, task in zip(models, tasks, strict=True):
            row = first if task is tasks[0] else first.for_task(task)
            attention = next(attend(task, [(row.tokens, row.features)])) if is_keras_model(task.model) else None
            explanations.append(
                ModelReasons(display_path(path), attribute(task, row, chosen, baseline, steps), attention)
            )
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    return explanations


def show_explanations(explanations: Sequence[ModelReasons], console: Console) -> None:
    """Prints a table of words with a column of shares for each model; for pairs also the index of the text."""
    rows = [explanation.attribution.row for explanation in explanations]
    shares = [
        dict(zip(_places(row), map(_format_share, explanation.attribution.by_word().tolist()), strict=True))
        for row, explanation in zip(rows, explanations, strict=True)
    ]
    words = {place: word for row in reversed(rows) for place, word in zip(_places(row), row.word_texts, strict=True)}
    numbers = {place: [str(place[0] + 1)] if len(rows[0].texts) > 1 else [] for place in words}
    cells = [[words[place], *numbers[place], *(column.get(place, "") for column in shares)] for place in sorted(words)]
    texts = ["text"] if len(rows[0].texts) > 1 else []
    scores = [f"{explanation.attribution.score:.3f}" for explanation in explanations]
    last = [f"score of {explanations[0].attribution.target}", *("" for _ in texts), *scores]
    headings = ["word", *texts, *_short_names([explanation.model for explanation in explanations])]
    Table(headings, [*cells, last], list(_notes(explanations))).show(console)


def _places(row: Tokens) -> list[tuple[int, int]]:
    """Returns text index and first character of each word, by which words of different models are matched."""
    return [(text, start) for start, _, text in row.word_offsets.tolist()]


def _format_share(share: float) -> str:
    """Formats with three decimals, or one significant digit for smaller shares."""
    return f"{share:+.3f}" if abs(share) >= _LEAST_SHARE or share == 0 else f"{share:+.0e}"


def _short_names(models: Sequence[str]) -> list[str]:
    """Returns the last part of each path, with folders until all differ, or a name for trained models of a root."""
    names = ["trained model" if _ARTIFACT.search(model) else Path(model).name for model in models]
    for count in range(2, 1 + max(len(Path(model).parts) for model in models)):
        names = [
            str(Path(*Path(model).parts[-count:])) if names.count(name) > 1 else name
            for model, name in zip(models, names, strict=True)
        ]
    return names


def _notes(explanations: Sequence[ModelReasons]) -> Iterator[str]:
    first = explanations[0].attribution
    if not any(explanation.attention for explanation in explanations):
        yield "a page with attention needs a trained model: --compare-with MODEL, or --root of the files' run"
    yield f"{first.method.replace('_', ' ')}: what each word adds to the score; {_METHODS[first.method]}"
    for explanation in explanations:
        for cut in _cuts(explanation.attribution.row):
            part = f"characters {cut['start']} to {cut['end']} of {cut['characters']}"
            yield f"{explanation.model} reads {part} of text {cut['text'] + 1}: {cut['tokens']} tokens were cut"
    for explanation in explanations:
        gap, absolute_gap = explanation.attribution.gap, explanation.attribution.absolute_gap
        if gap is not None and gap > _LARGE_GAP:
            way_out = "more --steps, or --baseline [MASK]"
            missing = f"by {gap:.0%}, which is {absolute_gap:.2g}"
            yield f"warning: {explanation.model}: the shares miss the score's difference {missing}; try {way_out}"


def _cuts(row: Tokens) -> list[dict[str, int]]:
    """Describes each truncated text: first and last character read, number of characters, and number of lost tokens."""
    cuts = []
    for text, tokens in enumerate(row.dropped):
        if tokens:
            start, end = row.characters_read(text)
            length = len(row.texts[text])
            cuts.append({"text": text, "start": start, "end": end, "characters": length, "tokens": tokens})
    return cuts


_METHODS = {
    "occlusion": "the score falls by so much if the word is masked",
    "integrated_gradients": "the shares sum to the score minus the score of an empty text",
    "input_x_gradient": "a rough estimate from one gradient",
}


def write_page(explanations: Sequence[ModelReasons], file: Path) -> None:
    """Writes a page with the shares, and with the attention of Keras models."""
    from plugins.explain.html_page import show

    names = _short_names([explanation.model for explanation in explanations])
    labelled = [
        (name, item)
        for name, explanation in zip(names, explanations, strict=True)
        for item in (explanation.attribution, explanation.attention)
        if item is not None
    ]
    try:
        show(*(item for _, item in labelled), labels=[name for name, _ in labelled]).save(file)
    except OSError as error:
        raise InputError(f"--out cannot be written: {error}") from None


def explanations_as_json(explanations: Sequence[ModelReasons]) -> dict[str, Any]:
    """Returns all values: tokens and words with offsets, shares, scores, attention, rollout, and truncated texts."""
    row = explanations[0].attribution.row
    return {"texts": list(row.texts), "models": [_model_as_json(explanation) for explanation in explanations]}


def _model_as_json(explanation: ModelReasons) -> dict[str, Any]:
    from plugins.explain.attention import rollout

    attribution, row = explanation.attribution, explanation.attribution.row
    content: dict[str, Any] = {
        "model": explanation.model,
        "target": attribution.target,
        "method": attribution.method,
        "score": attribution.score,
        "baseline_score": attribution.baseline_score,
        "gap": attribution.gap,
        "absolute_gap": attribution.absolute_gap,
        "dropped": _cuts(row),
        "words": [
            {"word": word, "text": text, "start": start, "end": end, "share": share}
            for word, (start, end, text), share in zip(
                row.word_texts, row.word_offsets.tolist(), attribution.by_word().tolist(), strict=True
            )
        ],
        "tokens": [
            {"token": token, "text": int(segment), "start": int(start), "end": int(end), "share": float(share)}
            for token, segment, (start, end), share in zip(
                row.tokens, row.segments, row.offsets, attribution.token_scores, strict=True
            )
        ],
    }
    if explanation.attention is not None:
        weights = explanation.attention.weights
        content["attention"] = {
            "tokens": list(explanation.attention.tokens),
            "weights": weights.round(6).tolist(),
            "rollout": rollout(weights)[-1].round(6).tolist(),
        }
    return content
