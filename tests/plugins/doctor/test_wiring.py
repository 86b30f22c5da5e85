"""The diagnosis of a job looks at the student that the job makes."""

from plugins.doctor.wiring import diagnosis_pipeline
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load
from tests.pipeline.test_pipelines import STUDENT, check_one_student, reads


def test_the_student_is_that_of_the_job(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + "[quantization]\n[distillation]\nteachers = 'seeds'\n"
    settings = load(tmp_path, text, "seeds=3")
    check_one_student(reads(diagnosis_pipeline(settings, None)[0]), settings)
    # Each seed has its own student else.
    inputs = reads(diagnosis_pipeline(load(tmp_path, text, "seeds=3", "distillation.teachers=own"), None)[0])
    assert inputs["distill-0"] == {"fine_tune-0", "ingest_examples"}
