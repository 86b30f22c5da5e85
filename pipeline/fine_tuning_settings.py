"""What a user may set for fine-tuning a checkpoint."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from components.fine_tuning import Selection
from components.sources import TableSource
from components.task_sources import QuestionSource, SentenceSource
from keras_bert.config import Pooling, Training
from pipeline.settings_files import TASKS, choose_task, load

# Pydantic puts these marks into the place of an error, where a user has no use for them.
_NAMED, _TABLE = "<named>", "<table>"


def _choose_weights(value: Any) -> str:
    return _TABLE if isinstance(value, dict) else _NAMED


class FineTuningSettings(pydantic.BaseModel):
    """All settings of the fine-tuning pipeline; there is no default for the checkpoint and the examples."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    name: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "fine_tuning"
    checkpoint: Annotated[str, pydantic.Field(min_length=1)]
    examples: Annotated[
        Annotated[TableSource, pydantic.Tag(TASKS["classification"])]
        | Annotated[TableSource, pydantic.Tag(TASKS["regression"])]
        | Annotated[SentenceSource, pydantic.Tag(TASKS["token_classification"])]
        | Annotated[QuestionSource, pydantic.Tag(TASKS["question_answering"])],
        pydantic.Discriminator(choose_task),
    ]
    max_length: Annotated[int, pydantic.Field(ge=8, le=512)] = 128
    stride: Annotated[int, pydantic.Field(ge=1)] | None = None
    max_query_length: Annotated[int, pydantic.Field(ge=1)] | None = None
    pooling: Pooling = "mean"
    class_weights: Annotated[
        Annotated[Literal["none", "balanced"], pydantic.Tag(_NAMED)]
        | Annotated[dict[str, float], pydantic.Tag(_TABLE)],
        pydantic.Discriminator(_choose_weights),
    ] = "none"
    training: Training = Training()
    selection: Selection = Selection()
    seeds: Annotated[int, pydantic.Field(ge=1, le=100)] = 3
    metric: str = ""


def load_fine_tuning(path: Path, overrides: Iterable[str] = ()) -> FineTuningSettings:
    """Settings of the fine-tuning pipeline, see `pipeline.settings_files.load`."""
    return load(FineTuningSettings, path, overrides)
