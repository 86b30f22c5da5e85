"""What tables need of one another and of the data: each that no step would read is refused, and so is no start."""

import json
from pathlib import Path

import pytest

from components.dsl.errors import InputError
from components.sources.docstring_task import DocstringTask
from components.sources.shared import SPLITS
from pipeline.job.checks import check_data
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load, refusal, write_data

REPLACED = "[pretraining]\nobjective = 'replaced_tokens'\n[pretraining_rows]\nobjective = 'none'\n"


@pytest.mark.parametrize(
    "text",
    [
        CHECKPOINT + EXAMPLES,
        CHECKPOINT + EXAMPLES + "[student]\nnum_layers = 1\n[distillation]\n[quantization]",
        CHECKPOINT + EXAMPLES + "[student]\nnum_layers = 1\n[distillation]\nhard_weight = 0",
        CHECKPOINT + EXAMPLES + "[student]\nnum_layers = 1\n[distillation]\nhard_weight = 1",
        CHECKPOINT + EXAMPLES + "[fine_tuning]\n[export]\n[evaluation]\n[push]",
        CHECKPOINT + "[corpus]\npath = 'texts'\n",
        CHECKPOINT + "[corpus]\npath = 'texts'\n[cleaning]\n[masking]\n[pretraining_rows]\n[pretraining]\n[beam]",
        CHECKPOINT + "[corpus]\npath = 'texts'\n" + EXAMPLES,
        CORPUS,
        CORPUS + "[vocabulary]\n[cleaning]\n[masking]\n[pretraining_rows]\n[pretraining]\n[beam]",
        CORPUS + EXAMPLES + "[fine_tuning]\n[quantization]",
        "pooling = 'cls'\n" + CORPUS + EXAMPLES + "[pretraining_rows]\nobjective = 'sentence_order'\n",
        CORPUS + REPLACED,
        CORPUS + REPLACED + "[generator]\nsize = 0.5\nsharing = 'none'\n",
        CORPUS + "[pretraining]\nspan_boundary = true\n[masking]\nstrategy = 'spans'\n",
        CORPUS + "[pretraining_rows]\nshort_length = 128\n",
        "seeds = 2\n" + CHECKPOINT + EXAMPLES + f"[fine_tuning]\nseed = {2**32 - 2}\n",
        "stride = 5\nmax_query_length = 5\n" + CHECKPOINT + EXAMPLES + "task = 'question_answering'",
    ],
)
def test_tables_that_go_together(tmp_path, text):
    load(tmp_path, text)


@pytest.mark.parametrize(("family", "most"), [("bert", 64), ("roberta", 62)])
def test_no_more_tokens_than_the_checkpoint_has_positions(tmp_path, family, most):
    write_data(tmp_path)
    config = tmp_path / "bert" / "config.json"
    config.write_text(f'{{"model_type": "{family}", "num_hidden_layers": 4, "max_position_embeddings": 64}}')
    check_data(load(tmp_path, CHECKPOINT + EXAMPLES, f"max_length={most}"))
    line = refusal(tmp_path, CHECKPOINT + EXAMPLES, f"max_length={most + 1}")
    assert line == f"max_length must be at most {most}, the checkpoint's positions, got {most + 1}"


def test_a_generator_beside_a_checkpoint(tmp_path):
    write_data(tmp_path)
    text = CHECKPOINT + "[corpus]\npath = 'texts'\n" + REPLACED
    check_data(load(tmp_path, text, "generator.num_layers=4"))
    with pytest.raises(InputError, match=r"^generator.num_layers must be at most 4, the checkpoint's, got 5$"):
        check_data(load(tmp_path, text, "generator.num_layers=5"))


def test_only_a_linear_head_is_fitted(tmp_path):
    write_data(tmp_path)
    (tmp_path / "pairs.tsv").write_text("text\tother\tlabel\n" + "one\ta\t0\ntwo\tb\t1\n" * 10)
    text = CHECKPOINT + "[examples]\ntrain = 'pairs.tsv'\ntask = 'embedding'\nsecond_text = 'other'\n"
    line = refusal(tmp_path, text, "fine_tuning.start_head=fitted")
    rule = "be 'auto' or 'random' for embedding, whose head is no linear model of one vector"
    assert line == f"fine_tuning.start_head must {rule}, got 'fitted'"


NAMED = "layer_map must name for each of the student's 1 layers one of the teacher's, 0 to {last}, got "
PLACE = "teacher_layer must be from -{layers} to {last}, the teacher's layers, got "
HEADS = "where the student has 4 heads and the teacher 2, got"
# What a student with one layer cannot imitate, in the table of its distillation or of that on texts.
IMITATIONS = {
    "distillation": [
        ("{hidden_states=1, layer_map=[0, 1]}", NAMED + "[0, 1]"),
        ("{attentions=1, layer_map=[4]}", NAMED + "[4]"),
        ("{relations=1, teacher_layer=4}", PLACE + "4"),
        ("{relations=1, teacher_layer=-5}", PLACE + "-5"),
        ("{attentions=1}", f"attentions must be 0 {HEADS} 1.0"),
        ("{vectors=1}", "vectors must be 0 except for embedding and retrieval, got 1.0"),
    ],
    "general_distillation": [
        ("{path='texts', hidden_states=1, layer_map=[4]}", NAMED + "[4]"),
        ("{path='texts', relations=1, teacher_layer=4}", PLACE + "4"),
        ("{path='texts', attentions=1}", f"attentions must be 0 {HEADS} 1.0"),
        (
            "{path='texts', relations=1, relation_kind='attention_value'}",
            f"relation_kind must be 'query_key_value' {HEADS} 'attention_value'",
        ),
    ],
}


@pytest.mark.parametrize(
    ("table", "settings", "message"), [(table, *row) for table, rows in IMITATIONS.items() for row in rows]
)
@pytest.mark.parametrize(("start", "layers"), [(CHECKPOINT, 4), (CORPUS, 2)])
def test_refuses_imitation_of_missing_layers_and_heads(tmp_path, start, layers, table, settings, message):
    write_data(tmp_path)
    heads = 4 if HEADS in message else 2
    text = start + EXAMPLES + f"[student]\nnum_layers = 1\nnum_heads = {heads}\n"
    line = refusal(tmp_path, text, f"{table}={settings}")
    assert line == f"{table}.{message.format(layers=layers, last=layers - 1)}"
    general = "[general_distillation]\npath = 'texts'\nrelations = 1.0\n"
    check_data(load(tmp_path, text + general, "distillation.hidden_states=1", "distillation.layer_map=[1]"))


@pytest.mark.parametrize(("start", "layers"), [(CHECKPOINT, 4), (CORPUS, 2)])
def test_deeper_student_needs_a_layer_map(tmp_path, start, layers):
    write_data(tmp_path)
    text = start + EXAMPLES + "[student]\nnum_layers = 5\nhidden_size = 16\n"
    line = refusal(tmp_path, text, "distillation.hidden_states=1")
    rule = f"be set where the student has more layers, 5, than the teacher, {layers}, got None"
    assert line == f"distillation.layer_map must {rule}"


@pytest.mark.parametrize("text", [CHECKPOINT + EXAMPLES, CORPUS + EXAMPLES])
@pytest.mark.parametrize(
    "override",
    [
        "evaluation.metric=mcc",
        "evaluation.min_precision=0.9",
        "fine_tuning.class_weights='balanced'",
        "fine_tuning.class_weights={ a = 2.0 }",
    ],
)
def test_existing_data_pass(tmp_path, text, override):
    write_data(tmp_path)
    check_data(load(tmp_path, text, override))


@pytest.mark.parametrize(
    ("text", "missing", "message"),
    [
        (CHECKPOINT + EXAMPLES, "rows.tsv", "the train data must be a file or a folder that exists, got "),
        (CHECKPOINT + EXAMPLES, "bert/vocab.txt", "checkpoint must hold the vocabulary, vocab.txt or tokenizer.json"),
        (CORPUS, "texts/some.txt", "the corpus "),
    ],
)
def test_refuses_missing_data(tmp_path, text, missing, message):
    write_data(tmp_path)
    (tmp_path / missing).unlink()
    assert refusal(tmp_path, text).startswith(message)


def test_a_broken_configuration_is_named_once(tmp_path):
    write_data(tmp_path)
    (tmp_path / "bert" / "config.json").write_text("{")
    broken = f"checkpoint: {tmp_path}/bert/config.json must hold JSON: "
    assert refusal(tmp_path, CHECKPOINT + EXAMPLES).startswith(broken)


@pytest.mark.parametrize(("text", "layers"), [(CHECKPOINT + EXAMPLES, 4), (CORPUS + EXAMPLES, 2)])
def test_the_student_wants_layers_that_the_teacher_has(tmp_path, text, layers):
    write_data(tmp_path)
    for fitting in (f"layers=[0, {layers - 1}]", f"num_layers={layers}", f"num_layers={layers + 1}"):
        # A narrower student starts from random weights, and may be as deep as it likes.
        more = ["student.hidden_size=16"] if fitting == f"num_layers={layers + 1}" else []
        check_data(load(tmp_path, text, f"student.{fitting}", *more))
    line = refusal(tmp_path, text, f"student.layers=[0, {layers}]")
    assert line == f"student.layers must be from 0 to {layers - 1}, the teacher's, got [0, {layers}]"
    line = refusal(tmp_path, text, f"student.num_layers={layers + 1}")
    assert line == f"student.num_layers must be at most {layers}, the teacher's, got {layers + 1}"


def test_overlap_and_few_rows_are_told_before_a_run(tmp_path):
    write_data(tmp_path)
    text = CHECKPOINT + EXAMPLES + "test = 'test.tsv'\n"
    (tmp_path / "test.tsv").write_text("text\tlabel\nOne\ta\nfour\tb\n")
    few = [
        "about 2 validation rows, a tenth of the training rows: chance moves a share by about 35 points; add rows",
        "2 test rows: chance moves a share by about 35 points; add rows",
    ]
    shared = "1 of 2 test rows have their texts in training rows, too"
    assert check_data(load(tmp_path, text)) == [shared, *few]
    assert check_data(load(tmp_path, text, "examples.overlap=drop")) == few
    # Rows that only a teacher answered are never measured on.
    more = [json.dumps({"text": f"text {number}", "p": {"a": 1.0}}) for number in range(3000)]
    (tmp_path / "more.jsonl").write_text("\n".join(more))
    unlabelled = "[unlabelled]\npath = 'more.jsonl'\nprobabilities = 'p'\n[student]\nnum_layers = 1\n"
    assert check_data(load(tmp_path, text + unlabelled, "examples.overlap=drop")) == few
    with pytest.raises(InputError, match=f"^examples.overlap is 'error', and {shared}; remove them, or set"):
        check_data(load(tmp_path, text, "examples.overlap=error"))


@pytest.mark.parametrize(
    ("question", "labels"), [("word_order", "intact, swapped"), ("library", "apache_beam, keras, ")]
)
def test_labels_of_docstrings_are_known_without_reading_them(tmp_path, monkeypatch, question, labels):
    write_data(tmp_path)
    monkeypatch.setattr(DocstringTask, "splits", None)
    text = CHECKPOINT + f"[examples]\nquestion = '{question}'\n"
    with pytest.raises(InputError, match=f"^fine_tuning.class_weights has 'none of them', .*; known: {labels}"):
        check_data(load(tmp_path, text, "fine_tuning.class_weights={ 'none of them' = 2.0 }"))


def test_refuses_push_folder_that_cannot_be_written(tmp_path):
    write_data(tmp_path)
    for fine in (tmp_path, tmp_path / "new" / "deep"):
        check_data(load(tmp_path, CHECKPOINT + EXAMPLES, f"push.folder={str(fine)!r}"))
    before = sorted(tmp_path.iterdir())
    errors = {
        tmp_path / "rows.tsv": "Not a directory",
        tmp_path / "rows.tsv" / "deep": "Not a directory",
        Path("/proc/models"): "No such file or directory",
        tmp_path / ("x" * 300): "File name too long",
    }
    for bad, error in errors.items():
        rule = "must be a folder that can be written to or made"
        line = refusal(tmp_path, CHECKPOINT + EXAMPLES, f"push.folder={str(bad)!r}")
        assert line == f"push.folder {rule}, got {bad}: {error}"
    assert sorted(tmp_path.iterdir()) == before


SLICED = CHECKPOINT + EXAMPLES + "[evaluation]\nslice_columns = ['from']\n"


def test_columns_of_slices_are_checked_before_anything_runs(tmp_path):
    write_data(tmp_path)
    table = tmp_path / "rows.tsv"
    with pytest.raises(InputError, match=r"^evaluation\.slice_columns must name columns of the train table: .*'from'"):
        check_data(load(tmp_path, SLICED))
    rows = [(f"text {number}", "ab"[number % 2], number) for number in range(60)]
    for values, error in ((60, r"at most 50 values, got 'from' with 60; "), (3, "")):
        lines = [f"{text}\t{label}\t{number % values}" for text, label, number in rows]
        table.write_text("\n".join(["text\tlabel\tfrom", *lines]) + "\n")
        if error:
            with pytest.raises(InputError, match=f"^evaluation.slice_columns must name columns of {error}"):
                check_data(load(tmp_path, SLICED))
    check_data(load(tmp_path, SLICED + "min_slice_scores = { 'from=2' = 60, length = 50 }"))
    with pytest.raises(
        InputError, match=r"^evaluation\.min_slice_scores must be of values that rows have, got 'from=3'"
    ):
        check_data(load(tmp_path, SLICED + "min_slice_scores = { 'from=3' = 60 }"))


@pytest.mark.parametrize(
    ("task", "rows", "test", "error"),
    [
        ("", "a\tno\nb\tyes\nc\tno\n", "d\tno\ne\tno\n", "the majority class has accuracy 100.00 already"),
        ("", "a\tno\nb\tyes\nc\tno\n", "d\tno\ne\tyes\n", ""),
        # A model can be better there, and the majority class has none right.
        ("", "a\tno\nb\tyes\nc\tno\n", "d\tyes\ne\tyes\n", ""),
        ("multi_label", "a\tno\nb\tno,yes\n", "d\tno\n", "the most frequent label has micro_f1 100.00 already"),
        ("token_classification", "Ann B-per\nran O\nfar O\n", "ran O\n", "f1 is undefined"),
        ("token_classification", "Ann B-per\nran O\nfar O\n", "Ann B-per\n", ""),
    ],
)
def test_test_rows_that_tell_no_models_apart_are_refused_before_anything_runs(tmp_path, task, rows, test, error):
    write_data(tmp_path)
    header = "" if task.startswith("token") else "text\tlabel\n"
    kind = "txt" if task.startswith("token") else "tsv"
    for name, content in (("all", rows), ("test", test)):
        (tmp_path / f"{name}.{kind}").write_text(header + content)
    files = "".join(f"{split} = '{name}.{kind}'\n" for split, name in zip(SPLITS, ("all", "all", "test"), strict=True))
    text = f"{CHECKPOINT}[examples]\ntask = '{task or 'classification'}'\n{files}"
    if not error:
        check_data(load(tmp_path, text))
        return
    with pytest.raises(InputError, match=rf"^the \d test rows must tell models apart, but on them {error}, and a file"):
        check_data(load(tmp_path, text))


def test_a_test_split_of_one_class_is_refused_before_anything_runs(tmp_path):
    write_data(tmp_path)
    # A tenth of 3 rows is none.
    rows = [f"text {number}\t{'rare' if number < 3 else 'usual'}" for number in range(60)]
    (tmp_path / "rows.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    with pytest.raises(InputError, match=r"^the 6 test rows must tell models apart, but on them the majority"):
        check_data(load(tmp_path, CHECKPOINT + EXAMPLES))


def test_near_duplicates_are_refused_before_anything_runs(tmp_path):
    write_data(tmp_path)
    sentence = "one two three four five six seven eight nine"
    (tmp_path / "rows.tsv").write_text("text\tlabel\n" + f"{sentence}\ta\n" + "other\tb\n" * 5)
    (tmp_path / "test.tsv").write_text(f"text\tlabel\n{sentence} ten\ta\nnew\tb\n")
    text = CHECKPOINT + EXAMPLES + "test = 'test.tsv'\n"
    check_data(load(tmp_path, text))
    with pytest.raises(InputError, match=r"^examples\.near_overlap is 'error', and 1 of 2 test rows have nearly the"):
        check_data(load(tmp_path, text + "near_overlap = 'error'\n"))
    (tmp_path / "more.txt").write_text("new\n")
    more = "overlap = 'error'\n[student]\nnum_layers = 1\n[unlabelled]\npath = 'more.txt'\n"
    with pytest.raises(
        InputError, match=r"^examples\.overlap is 'error', and 1 of 1 unlabelled texts are those of test"
    ):
        check_data(load(tmp_path, text + more))
