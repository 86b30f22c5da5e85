"""What students begin with, and which of their steps seeds and rungs share."""

from pathlib import Path

from components.sources.text import TextSource
from keras_bert.options.compression import StateImitation
from pipeline.pipelines import build_pipeline
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load
from tests.pipeline.test_pipelines import FITTED, STUDENT, reads, values

GENERAL = "[general_distillation]\npath = 'more'\nrelations = 2.0\nseed = 5\n"


def test_one_student_is_made_of_text_for_all_seeds(tmp_path):
    pipeline = build_pipeline(load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + GENERAL, "seeds=2"), Path("root"))
    inputs, parameters = reads(pipeline), values(pipeline)
    assert inputs["ingest_texts"] == {"import_checkpoint"}
    assert inputs["distill_general"] == {"import_checkpoint", "ingest_texts"}
    for seed in (0, 1):
        assert inputs[f"distill-{seed}"] == {f"fine_tune-{seed}", "ingest_examples", "distill_general"}
    assert parameters["ingest_texts"] == {"source": TextSource(str(tmp_path / "more")), "max_length": 128}
    given = parameters["distill_general"]
    assert (given["imitation"], given["training"].seed) == (StateImitation(relations=2.0), 5)
    assert given["shape"] == parameters["distill-0"]["shape"]


def test_it_reads_the_pieces_that_the_teacher_reads(tmp_path):
    fitted = reads(build_pipeline(load(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + GENERAL + FITTED), Path("root")))
    assert fitted["ingest_texts"] == {"fit_vocabulary"}
    assert fitted["distill_general"] == {"fit_vocabulary", "ingest_texts"}
    trained = reads(build_pipeline(load(tmp_path, CORPUS + EXAMPLES + STUDENT + GENERAL), Path("root")))
    assert trained["ingest_texts"] == {"build_vocabulary"}
    assert trained["distill_general"] == {"pretrain", "ingest_texts"}


def test_another_task_finds_the_steps_that_know_nothing_of_it(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + GENERAL
    one, other = (
        values(build_pipeline(load(tmp_path, text, *more), Path("root")))
        for more in ((), ("examples.train=other.tsv", "pooling=cls", "distillation.cosine=1"))
    )
    assert one["distill_general"] == other["distill_general"]
    assert one["ingest_texts"] == other["ingest_texts"]
    assert one["distill"] != other["distill"]
