"""The metadata of a model card by the names of the Hugging Face hub, at the head of the card."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.artifacts.evaluation import Metrics
from components.scoring.registry import TASK_SCORING
from keras_bert.export.targets.registry import FILES

if TYPE_CHECKING:
    from components.sources.checkpoint import CheckpointOrigin


def render_metadata(
    name: str, task: str, metrics: Metrics, records: Mapping[str, Mapping[str, Any]], origin: "CheckpointOrigin | None"
) -> str:
    """The block of YAML between two lines of dashes; the scores are shares, those of the shipped file on test rows.

    `records` is the content of `export.json`.
    """
    from huggingface_hub import EvalResult, ModelCardData

    tag = TASK_SCORING[task].pipeline_tag
    data = ModelCardData(
        pipeline_tag=tag,
        library_name="keras-bert-edge",
        base_model=(origin and origin.repository) or None,
        model_name=name,
        eval_results=[
            EvalResult(
                task_type=tag,
                dataset_type=name,
                dataset_name=f"test rows of {name}",
                dataset_split="test",
                metric_type=metric,
                metric_value=score.mean,
            )
            for metric, score in metrics.shipped_model.metrics.items()
        ],
        tags=sorted({file.tag for file in FILES if file.tag and file.name in records}),
        **({} if origin is None else origin.license),
    )
    return f"---\n{data.to_yaml()}\n---\n"
