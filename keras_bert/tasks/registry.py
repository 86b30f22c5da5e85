"""All tasks by name, and the loading of saved tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_bert.core.checks import check
from keras_bert.core.folders import ADAPTER_FOLDER, MODEL_FILE, TASK_FILE, read_json_file
from keras_bert.core.plugins import find_plugins
from keras_bert.data.schemas import SCHEMAS, Feature
from keras_bert.tasks.base import Runtime, Task
from keras_bert.tasks.calibration import Calibration, calibration_of
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.multi_label import MultiLabelClassification
from keras_bert.tasks.pretraining import Pretraining
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.replaced_tokens import ReplacedTokens
from keras_bert.tasks.reranking import Reranking
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tasks.token_classification import TokenClassification

if TYPE_CHECKING:
    import keras

    from keras_bert.tokenizers.base import BaseTokenizer

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (
        Classification,
        Embedding,
        MultiLabelClassification,
        Pretraining,
        QuestionAnswering,
        Regression,
        ReplacedTokens,
        Reranking,
        Retrieval,
        TokenClassification,
    )
}


def register_task(task: type[Task]) -> None:
    """Adds a task, so that its folders load and its records are read.

    The tasks of installed packages are registered already, see docs/guides/extend.md.

    Args:
        task: its `name` is the key in `TASKS`, in `task.json` and in `features.json`; its `schema` describes records.

    Raises:
        ValueError: the name is taken.

    Examples:
        >>> class Headlines(Classification):
        ...     name = "headlines"
        ...     schema = SCHEMAS["classification"]
        >>> register_task(Headlines)
        >>> TASKS["headlines"] is Headlines
        True
        >>> del TASKS["headlines"], SCHEMAS["headlines"]
    """
    check("register_task", "task.name", task.name not in TASKS, f"be none of {sorted(TASKS)}", task.name)
    TASKS[task.name] = task
    SCHEMAS[task.name] = dict(task.schema)


def schema_of(task: str) -> dict[str, Feature]:
    """The features of the records of a task; this module, unlike `SCHEMAS` alone, knows the tasks of packages."""
    return SCHEMAS[task]


for _plugin in find_plugins("tasks").values():
    register_task(_plugin.load())


def load(folder: str | os.PathLike[str]) -> Task:
    """Reads a task that `Task.save`, or a training step of the pipeline, wrote.

    Raises:
        FileNotFoundError: there is no such folder, or it lacks one of the files.
        ModuleNotFoundError: TensorFlow, which reads text into tokens, is not installed.
        ValueError: a file is damaged, or `task.json` names no known task or setting.

    Examples:
        >>> task.save("sentiment")
        >>> load("sentiment").labels
        ('no', 'yes')
    """
    from keras_bert.adaptation import files
    from keras_bert.models.saving import load_model

    folder = Path(folder)
    for name in (MODEL_FILE, TASK_FILE):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} is not a saved task: it has no {name}")
    # All else of a task runs on any Keras backend.
    from keras_bert.tokenizers.loading import load_tokenizer

    kind, settings = read_settings(folder / TASK_FILE)
    adapted = settings.pop("adapted", False)
    model, tokenizer = load_model(folder / MODEL_FILE), load_tokenizer(folder)
    task = restore(kind, model, tokenizer, settings, folder / TASK_FILE)
    if adapted:
        files.read_adapter(folder / ADAPTER_FOLDER, task.adapt)
    return task


def load_adapter(folder: str | os.PathLike[str], base: Task) -> Task:
    """Reads a task that `Task.save_adapter` wrote, and builds it on the encoder of another task.

    Several tasks may share an encoder: each answers with its adapter, and the base without any.

    Args:
        folder: the folder of the adapter.
        base: any task on the encoder with which the adapter was trained.

    Raises:
        FileNotFoundError: there is no adapter.
        ValueError: a file is damaged, or the adapter was trained with another encoder.

    Examples:
        >>> _ = task.adapt(keras_bert.Lora(rank=2))
        >>> task.save_adapter("sentiment-lora")
        >>> task.drop_adapter()
        >>> load_adapter("sentiment-lora", base=task).adapter.adaptation.rank
        2
    """
    from keras_bert.adaptation import files
    from keras_bert.adaptation.adapter import Adapter

    folder = Path(folder)
    settings, file = files.read_settings(folder).task, folder / files.SETTINGS_FILE
    kind, learned = _take_task(settings, file), _take_learned(settings, file)
    try:
        task = kind.build(base.encoder, base.tokenizer, **settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} must hold the settings of {kind.name}, got {settings}: {error}") from None
    task.pairs, task.calibration = learned
    task.adapter = files.read_adapter(folder, lambda adaptation: Adapter(task.model, adaptation))
    return task


def restore(
    task: type[Task], model: keras.Model | Runtime, tokenizer: BaseTokenizer, settings: dict[str, Any], file: Path
) -> Task:
    """The task as its settings describe it; errors name `file`, which they were read from."""
    learned = _take_learned(settings, file)
    try:
        restored = task.from_settings(model, tokenizer, settings)
    except ValueError as error:
        raise ValueError(f"{file} does not fit the model beside it: {error}") from None
    except TypeError as error:
        raise ValueError(f"{file} must hold the settings of {task.name}, got {settings}: {error}") from None
    restored.pairs, calibration = learned
    if calibration != Calibration():  # a task that is made of others has theirs
        restored.calibration = calibration
    return restored


def read_settings(file: Path) -> tuple[type[Task], dict[str, Any]]:
    """The task that a `task.json` names, and the arguments of its `from_settings`."""
    settings = read_json_file(file)
    return _take_task(settings, file), settings


def _take_learned(settings: dict[str, Any], file: Path) -> tuple[bool | None, Calibration]:
    """Removes the values of `Task.learned_settings` from settings that a file holds."""
    pairs = settings.pop("pairs", None)
    if pairs not in (None, True, False):
        raise ValueError(f"{file}: pairs must be true, false or left out, got {pairs!r}")
    return pairs, calibration_of(settings.pop("calibration", None), file)


def _take_task(settings: dict[str, Any], file: Path) -> type[Task]:
    name = settings.pop("task", None)
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(f"{file}: task must be one of {sorted(TASKS)}, got {name!r}")
    return TASKS[name]
