"""The pipeline of a job's explanation."""

from components.dsl.component import Handle
from components.dsl.errors import InputError
from keras_bert.core.folders import TASK_FILE, read_json_file
from keras_bert.tasks.registry import TASKS
from pipeline.chains import enabled_stages, wire_chains
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import wire_start
from pipeline.settings.schema import Settings
from plugins.explain.artifacts import Explanation
from plugins.explain.capability import ProbesCapability
from plugins.explain.explain_models import explain_models


def check_explainable(settings: Settings) -> None:
    """Raises InputError where the models of a job have no number to explain: before anything trains."""
    assert settings.examples is not None
    name, checkpoint, start = settings.examples.task, settings.checkpoint, {}
    if checkpoint is not None and checkpoint.is_own:
        start = read_json_file(checkpoint.folder() / TASK_FILE)
    # A task keeps the settings of its start only if that is of the same kind.
    obstacle = TASKS[name].find_explanation_obstacle(start if start.get("task") == name else {})
    if obstacle is not None:
        raise InputError(f"examples.task must be one that can be explained, got {name!r}: {obstacle}")


def explanation_pipeline(settings: Settings, rows: int) -> tuple[Pipeline, Handle[Explanation]]:
    """Explains the answers of the first seed's teacher, student and exported file."""
    start, examples = wire_start(settings)
    stages = enabled_stages(settings)
    chain = wire_chains(settings, start, examples)[0]
    node = explain_models(
        teacher=chain.model(),
        student=chain.model(stages),
        edge=chain.edge(stages),
        examples=examples,
        rows=rows,
        layers=None if settings.student is None else settings.student.layers,
        probes=getattr(settings, ProbesCapability.name),
    )
    return Pipeline(settings.name, [node]), node.output(Explanation)
