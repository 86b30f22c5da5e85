"""The source of labelled rows of every task: the settings of `[examples]` in a job."""

from typing import Any, get_args

from components.sources.label_sets import LabelSetSource
from components.sources.questions import QuestionSource
from components.sources.retrieval import RetrievalSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from keras_bert.core.plugins import find_plugins

TASK_SOURCES: dict[str, type[Any]] = {
    task: source
    for source in (
        TableSource, LabelSetSource, SentenceSource, QuestionSource, RetrievalSource,
        *(plugin.load() for plugin in find_plugins("task_sources").values()),
    )
    for task in get_args(source.__annotations__["task"])
}  # fmt: skip
