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


# Of the pieces that stand in training rows, how many may stay.
_SHARES = (1.0, 0.5, 0.25, 0.125)


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
    """The whole vocabulary, then the pieces of training rows, all or the most frequent of them."""
    import numpy as np

    from keras_bert.tokenizers.fitting import choose_pieces

    tokenizer = task.tokenizer
    train, validation = (count_examples(examples, split, tokenizer) for split in ("train", "validation"))
    seen = len(choose_pieces(tokenizer, train))
    least = len(choose_pieces(tokenizer, train, min_count=int(train.max()) + 1))
    found = [{"size": tokenizer.vocabulary_size, "kept_share": 1.0}]
    for share in _SHARES:
        size = round(share * seen)
        if least <= size < found[-1]["size"]:
            kept = choose_pieces(tokenizer, train, size=size)
            share_kept = float(validation[np.asarray(kept)].sum() / max(1, validation.sum()))
            found.append({"size": len(kept), "kept_share": share_kept})
    return found
