"""A teacher and its rows -> Survey: what there is to lose, and how many pieces the rows need."""

import json
from typing import TYPE_CHECKING, Any

from components.artifacts.model import Model
from components.artifacts.survey import SURVEY_FILE, Survey
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import read_model
from components.training.vocabulary import count_examples
from keras_bert.options.student import may_lose_parts

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


# Shares of all pieces, and of those that stand in training rows.
_OF_ALL, _OF_SEEN = (1 / 2, 1 / 4, 1 / 8, 1 / 16), (1.0, 1 / 2)


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"))
def survey(teacher: Input[Model], examples: Input[TaskExamples], survey: Output[Survey]) -> None:
    """Looks at a teacher's shape, and at how much of validation rows would stay whole with fewer pieces.

    Args:
        teacher: of any task.
        examples: the rows that it learnt from.
        survey: what was found.
    """
    from keras_bert.models.encoder import config_of

    report_progress(0, 1, "counting pieces")
    task = read_model(teacher)
    config = config_of(task.model)
    content = {
        "config": config.as_dict(),
        "may_lose_parts": may_lose_parts(config),
        "max_length": task.max_length,
        "pieces": _sizes(task, examples),
    }
    survey.file(SURVEY_FILE).write_text(json.dumps(content, indent=1) + "\n")
    survey.counts = {"parameters": task.model.count_params(), "pieces": task.tokenizer.vocabulary_size}


def _sizes(task: "Task", examples: TaskExamples) -> list[dict[str, Any]]:
    """The whole vocabulary, then fewer pieces: those of training rows first, as many more as there is room for."""
    import numpy as np

    from keras_bert.tokenizers.fitting import choose_pieces

    tokenizer = task.tokenizer
    train, validation = (count_examples(examples, split, tokenizer) for split in ("train", "validation"))
    seen = len(choose_pieces(tokenizer, train))
    least = len(choose_pieces(tokenizer, train, min_count=int(train.max()) + 1))
    whole = tokenizer.vocabulary_size
    sizes = {round(share * whole) for share in _OF_ALL} | {round(share * seen) for share in _OF_SEEN}
    found = {whole: 1.0}
    for size in sorted(sizes, reverse=True):
        if least <= size < whole:
            kept = np.asarray(choose_pieces(tokenizer, train, size=size))
            found[len(kept)] = float(validation[kept].sum() / max(1, validation.sum()))
    return [{"size": size, "kept_share": share} for size, share in found.items()]
