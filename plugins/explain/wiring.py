"""The pipeline of a job's explanation."""

from components.dsl.component import Handle
from pipeline.chains import enabled_stages, wire_chains
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import wire_start
from pipeline.settings.schema import Settings
from plugins.explain.artifacts import Explanation
from plugins.explain.capability import ProbesCapability
from plugins.explain.explain_models import explain_models


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
