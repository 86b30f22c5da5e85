"""The wiring: what each step reads from."""

from pathlib import Path

from components.artifacts.pushed import Pushed
from components.dsl.component import Latest
from keras_bert.options.pretraining_rows import PretrainingRows
from pipeline.orchestrator.graph import sources_of
from pipeline.pipelines import compression
from pipeline.settings.schema import load_settings

READS = {
    "ingest_corpus": set(),
    "build_vocabulary": {"ingest_corpus"},
    "mask_examples": {"ingest_corpus", "build_vocabulary"},
    "ingest_examples": {"build_vocabulary"},
    "pretrain": {"mask_examples", "build_vocabulary"},
    "fine_tune": {"pretrain", "ingest_examples"},
    "distill": {"fine_tune", "ingest_examples"},
    "quantize": {"distill", "ingest_examples"},
    "export_model": {"quantize", "ingest_examples"},
    "evaluate": {"fine_tune", "distill", "export_model", "ingest_examples"},
    "push": {"export_model", "evaluate"},
}


def test_every_step_reads_from_the_steps_it_needs() -> None:
    pipeline = compression(load_settings(None), Path("root"))
    assert {node.name: {handle.node.name for handle in sources_of(node)} for node in pipeline.nodes} == READS


def test_cheap_steps_come_before_long_ones() -> None:
    names = [node.name for node in compression(load_settings(None), Path("root")).nodes]
    assert names.index("ingest_examples") < names.index("pretrain")


def test_the_candidate_meets_the_version_pushed_before_it() -> None:
    nodes = {node.name: node for node in compression(load_settings(None), Path("root")).nodes}
    previous = nodes["evaluate"].inputs["previous"]
    assert isinstance(previous, Latest)
    assert previous.artifact is Pushed
    assert previous.besides.node is nodes["export_model"]


def test_settings_reach_the_steps() -> None:
    overrides = ["distillation.temperature=4.0", "pooling=cls", "training.steps=7", "name=mine", "max_length=64"]
    overrides += ["pretraining_rows.short_length=32", "pretraining_rows.short_steps=0.5", "masking.strategy=spans"]
    pipeline = compression(load_settings(None, overrides), Path("root"))
    values = {node.name: node.values for node in pipeline.nodes}
    assert pipeline.name == "mine"
    assert values["distill"]["distillation"].temperature == 4.0
    assert values["quantize"]["distillation"].temperature == 4.0
    assert values["fine_tune"]["pooling"] == "cls"
    assert values["pretrain"]["training"].steps == 7
    assert values["mask_examples"]["max_length"] == values["ingest_examples"]["max_length"] == 64
    assert values["mask_examples"]["rows"] == PretrainingRows(short_length=32)
    assert values["mask_examples"]["masking"].strategy == "spans"
    assert values["pretrain"]["short_steps"] == 0.5
    assert values["push"]["folder"] == str(Path("root") / "pushed" / "mine")


def test_the_engine_reaches_all_steps_that_use_beam() -> None:
    pipeline = compression(load_settings(None, ["beam.workers=3", "cleaning.min_words=2"]), Path("root"))
    values = {node.name: node.values for node in pipeline.nodes}
    assert {name for name, own in values.items() if "beam" in own and own["beam"].workers == 3} == {
        "ingest_corpus",
        "build_vocabulary",
        "mask_examples",
    }
    assert values["ingest_corpus"]["cleaning"].min_words == 2
