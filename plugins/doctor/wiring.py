"""The pipeline that diagnoses the quantization of a job."""

from components.dsl.component import Handle
from keras_bert.options.quantization import Quantization
from pipeline.chains import enabled_stages, wire_chains
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import wire_start
from pipeline.settings.schema import Settings, select_fields
from plugins.doctor.artifacts import Diagnosis
from plugins.doctor.diagnose import diagnose


def diagnosis_pipeline(settings: Settings, allowed_loss: float | None) -> tuple[Pipeline, Handle[Diagnosis]]:
    """Measures the effect of quantization on the float model of the first seed."""
    start, rows = wire_start(settings)
    stages = [stage for stage in enabled_stages(settings) if stage != "quantization"]
    model = wire_chains(settings, start, rows)[0].model(stages)
    quantization = select_fields(settings.quantization, Quantization)
    node = diagnose(model=model, examples=rows, quantization=quantization, allowed_loss=allowed_loss)
    return Pipeline(settings.name, [node]), node.output(Diagnosis)
