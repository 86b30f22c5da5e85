"""`init` on the command line: a job for every kind of data is one that `run` accepts; bad rows are one clear line."""

import errno
import json
import os
import re

import pytest

from pipeline.cli import main
from pipeline.commands.init import TASKS
from pipeline.job.files import load_settings
from tests.pipeline.command_line import refused, said
from tests.pipeline.draft.tiny_rows import KINDS, make_texts, topic, write_checkpoint, write_reviews, write_text_pairs

EXPECTED = {
    "classification": {"task": "classification", "text": "review", "label": "kind", "second_text": None},
    "pairs": {"task": "classification", "text": "sentence1", "label": "label", "second_text": "sentence2"},
    "regression": {"task": "regression", "text": "text", "label": "score", "second_text": None},
    "embedding": {"task": "embedding", "text": "text", "second_text": "second_text", "scale": 10 / 2.2},
    "reranking": {"task": "reranking", "text": "query", "second_text": "passage", "label": "relevance"},
    "label lists": {"task": "multi_label", "text": "text", "label": "labels", "label_columns": None},
    "label columns": {"task": "multi_label", "text": "text", "label_columns": ("cow", "oak")},
    "columns": {"task": "token_classification", "scheme": "IOB1"},
    "lists": {"task": "token_classification", "words": "tokens", "tags": "pos_tags", "scheme": "any"},
    "question_answering": {"task": "question_answering"},
}


@pytest.fixture
def checkpoint(tmp_path):
    return str(write_checkpoint(tmp_path / "checkpoint"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_for_each_kind_of_data_is_accepted_by_run(tmp_path, checkpoint, capfd, kind):
    rows, job = KINDS[kind](tmp_path), tmp_path / "job.toml"
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]) == 0
    settings = load_settings(job)
    source, augmentation = settings.examples, settings.teacher_labels
    assert {name: getattr(source, name) for name in EXPECTED[kind]} == EXPECTED[kind]
    assert (0 if augmentation is None else augmentation.new_pairs) == (2 if kind == "pairs" else 0)
    assert f'train = "{rows.name}"' in job.read_text()  # a folder with its job can be moved
    assert "fine_tune" in said(capfd, "run", job, "--dry-run", "--root", tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_what_was_seen_stands_in_the_job_and_on_the_screen(tmp_path, checkpoint, capfd):
    rows = write_reviews(tmp_path)
    first = rows.read_text().splitlines()[1].split(",")
    # Planted: the first text once more with its label in other case, and once with another label.
    rows.write_text(rows.read_text() + f"60,{first[1].upper()},{first[2]}\n61,{first[1]},fish\n62,да близ the,fish\n")
    job = tmp_path / "a job.toml"
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]) == 0
    printed, text = capfd.readouterr().out, " ".join(job.read_text().replace("#  ", "").split())
    for fact in (
        "63 training rows",
        "duplicates: 2 rows have the texts of an earlier row",
        f"conflicts: 1 texts have several answers; '{first[1]}': '{first[2]}' and 'fish'",
        "3 labels:",
    ):
        assert fact in printed
        assert fact in text
    assert re.search(r"scripts of letters: Latin 99.\d* %, Cyrillic 0.\d* %", printed)
    assert "another vocabulary" not in printed
    assert f"next: keras-bert-edge run '{job}' --dry-run\n" in printed
    settings = load_settings(job)
    assert settings.max_length == 16
    assert settings.student.num_layers == 2
    assert settings.fine_tuning.epochs == 10.0


def test_tasks_of_plug_ins_that_rank_read_queries_and_passages(tmp_path, checkpoint, capfd):
    kind = next((name for name in TASKS if name in ("late_interaction", "sparse")), "retrieval")
    rows, texts = tmp_path / "rows.jsonl", make_texts(60)
    rows.write_text("\n".join(json.dumps({"question": text, "answer": text}) for text in texts))
    arguments = ["init", rows, "--task", kind, "--checkpoint", checkpoint, "--out", tmp_path / "job.toml"]
    assert f"task: {kind}, as the rows are queries with passages" in said(capfd, *arguments)
    assert load_settings(tmp_path / "job.toml").examples.task == kind
    write_text_pairs(tmp_path)
    assert refused(capfd, "init", tmp_path / "pairs.tsv", *arguments[2:]).startswith(
        f"the table {tmp_path / 'pairs.tsv'} must have a column of queries, query or question or anchor, and one of "
    )


def test_a_vocabulary_that_does_not_suit_is_named(tmp_path, checkpoint, capfd):
    rows = write_reviews(tmp_path)
    rows.write_text(rows.read_text().replace("cow", "корова"))
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(tmp_path / "job.toml")]) == 0
    assert "a checkpoint with another vocabulary (--checkpoint) would read more" in capfd.readouterr().out


def test_a_job_is_replaced_only_with_a_flag(tmp_path, checkpoint, capfd):
    job = tmp_path / "job.toml"
    job.write_text("mine")
    arguments = ["init", str(write_reviews(tmp_path)), "--checkpoint", checkpoint, "--out", str(job)]
    assert refused(capfd, *arguments) == f"--out must be a file that does not exist, got {job}; --overwrite replaces it"
    assert job.read_text() == "mine"
    assert main([*arguments, "--overwrite"]) == 0
    assert load_settings(job).name == "reviews"
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def _rows(content, name="rows.csv"):
    def write(folder):
        (folder / name).write_bytes(content.encode("latin-1"))
        return folder / name

    return write


TEXTS = make_texts(60)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_rows(""), "the table {rows} must begin with a line of column names, got an empty file"),
        (_rows("text,label\n"), "the table {rows} must hold at least one row, got none"),
        (_rows("", "rows.jsonl"), "the table {rows} must hold at least one row, got none"),
        (_rows("text\na cow\n"), "the table {rows} must have a column of texts and one of labels, got only 'text'"),
        (
            _rows("id,size\n" + "".join(f"{n},{n % 3}\n" for n in range(9))),
            "the table {rows} must have a column of texts, of two words or more in most cells, got id, size; "
            "name it by --text",
        ),
        (
            _rows("text,note\n" + "".join(f"{text},{text[::-1]}\n" for text in TEXTS)),
            "the table {rows} must have a column of labels, got note; add a line of column names if there is none, or "
            "name the column by --label",
        ),
        (
            _rows("text;score\n" + "".join(f"{text};{n // 10},{n % 10}\n" for n, text in enumerate(TEXTS))),
            "column 'score' of {rows} must have numbers with decimal points, got '0,0'; replace the commas, or --task "
            "classification reads the numbers as names",
        ),
        (
            _rows("Bericht;Preis\n" + "".join(f"{text};{n},5\n" for n, text in enumerate(TEXTS))),
            "column 'Preis' of {rows} must have numbers with decimal points, got '0,5'",
        ),
        (_rows("text,label\na caf\xe9,drink\n"), "{rows} must be UTF-8, got byte 0xe9 at offset 16"),
        (
            _rows("text,label\n" + "a cow,one\na cow,two\n" * 9),
            "column 'text' of {rows} must hold different texts, got 'a cow' in all 18 rows",
        ),
        (
            _rows("".join(f"{text},{topic(text)}\n" for text in TEXTS)),
            f"the table {{rows}} must begin with a line of column names, got {TEXTS[0]!r} and {topic(TEXTS[0])!r}, "
            "which look like a row; add the line, or name the columns by --text and --label",
        ),
        (
            _rows("".join(f"{text}\t0.5\n{text} the\t0\n" for text in TEXTS), "rows.tsv"),
            f"the table {{rows}} must begin with a line of column names, got {TEXTS[0]!r} and '0.5', which",
        ),
        (
            _rows(json.dumps([{"text": text, "label": topic(text)} for text in TEXTS]), "rows.json"),
            "{rows} must be a JSON object as SQuAD's, got a list of 60; write rows to a .jsonl file, an object a line",
        ),
        (
            _rows("text,text\na cow,hen\n"),
            "the table {rows} must have a column of texts and one of labels, got only columns without a name of their",
        ),
        (
            _rows("text,points\n" + "".join(f"{text},{80 + n}\n" for n, text in enumerate(TEXTS[:18]))),
            "taking a validation part out of the training rows needs a label with at least 6 different texts, got 18 "
            "in all; add rows or give a validation file; --task regression reads column 'points' as amounts",
        ),
        (
            _rows("text,label\n" + "".join(f"{text},1_{n}\n" for n, text in enumerate(TEXTS))),
            "taking a validation part out of the training rows needs a label with at least 6 different texts, got 60 "
            "in all; add rows or give a validation file; column 'label' has 60 different values in 60 rows: --label "
            "names another",
        ),
        (
            _rows("text,label\n" + "".join(f"{text},cow\n" for text in TEXTS)),
            "column 'label' of {rows} must hold at least 2 labels, got only ['cow']",
        ),
        (_rows("not a table", "rows.pdf"), "the rows must be .jsonl, .ndjson, .csv, .tsv, .parquet, .arrow, .conll"),
        (lambda folder: folder / "none.csv", "the rows must be a file or a folder that exists, got {rows}"),
    ],
)
def test_bad_rows_are_one_clear_line(tmp_path, checkpoint, capfd, write, message):
    rows, job = write(tmp_path), tmp_path / "job.toml"
    line = refused(capfd, "init", rows, "--checkpoint", checkpoint, "--out", job)
    assert line.startswith(message.format(rows=rows))
    assert not job.exists()


def test_columns_and_the_task_can_be_named(tmp_path, checkpoint, capfd):
    rows, job = write_reviews(tmp_path), tmp_path / "job.toml"
    arguments = ["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]
    line = refused(capfd, *arguments, "--label", "kinds")
    assert line == f"--label must be the name of one column of {rows}, got 'kinds'; did you mean 'kind'?"
    line = refused(capfd, *arguments, "--task", "regression")
    assert line.startswith("--task regression needs numbers in column 'kind', got '")
    line = refused(capfd, *arguments, "--task", "question_answering")
    assert line.startswith(f"the table {rows} has no column 'question'")
    assert main([*arguments, "--text", "review", "--label", "id", "--task", "regression"]) == 0
    assert load_settings(job).examples.label == "id"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("text,label\n{one},0.5\n{two},1\n", ["--task", "embedding"], "TableSource.second_text must be set for"),
        ("text,label\n{one},a\n{two},b\n", ["--text", "text", "--second", "text"], "TableSource.text must be another"),
        ("text,label\n{one},a\n{two},b\n", ["--text", "text", "--label", "text"], "--label must be another column"),
        (
            ",words\n1,{one}\n2,{two}\n",
            ["--text", "words", "--label", ""],
            "--label must be the name of one column of",
        ),
    ],
)
def test_choices_that_no_source_reads_are_one_line(tmp_path, checkpoint, capfd, rows, options, message):
    file = tmp_path / "rows.csv"
    file.write_text(rows.format(one=TEXTS[0], two=TEXTS[1]))
    job = tmp_path / "job.toml"
    line = refused(capfd, "init", file, "--checkpoint", checkpoint, "--out", job, *options)
    assert line.startswith(message)
    assert not job.exists()


LABELS = ("admiration", "love", "joy", "admiration,love", "joy, love", "admiration,joy")
GENRES = ("Action", "Sport", "Drama", "Comedy", "Crime", "War")
WINES = [f"{text},{'ab'[n % 2]} b,{n},{80 + n % 18}" for n, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    ("name", "content", "options", "fields"),
    [
        (
            "several labels",
            "text;labels\n" + "".join(f"{text};{LABELS[n % 6]}\n" for n, text in enumerate(TEXTS)),
            [],
            {"task": "multi_label", "label": "labels", "separator": ","},
        ),
        (
            "parts that are no labels",
            'text,label\n"'
            + "".join(f'{text}","{"ab"[n % 2]}, {"cd"[n % 4 // 2]}"\n"' for n, text in enumerate(TEXTS)),
            [],
            {"task": "classification"},
        ),
        (
            "capital letters",
            "Query,Passage,Relevance\n" + "".join(f"{TEXTS[n // 3]},{text},{n % 3}\n" for n, text in enumerate(TEXTS)),
            [],
            {"task": "reranking", "text": "Query", "second_text": "Passage", "label": "Relevance"},
        ),
        (
            "decimal commas",
            "text;label\n" + "".join(f"{text};{('1', '5', '1,5')[n % 3]}\n" for n, text in enumerate(TEXTS)),
            [],
            {"task": "classification"},
        ),
        (
            "one label of several",
            "text,labels\n" + "".join(f'{text},"{LABELS[n % 6]}"\n' for n, text in enumerate(TEXTS)),
            ["--task", "classification"],
            {"task": "classification", "label": "labels"},
        ),
        (
            "semicolons",
            '"text";"label"\n' + "".join(f'"{text}, old";"{topic(text)}"\n' for text in TEXTS),
            [],
            {"task": "classification", "text": "text", "label": "label"},
        ),
        (
            "empty columns",
            "text,label,,\n" + "".join(f"{text},{topic(text)},,\n" for text in TEXTS),
            [],
            {"task": "classification", "text": "text", "label": "label"},
        ),
        (
            "numbers",
            "\n".join(["text,title,place,points", *WINES]),
            ["--task", "regression"],
            {"task": "regression", "text": "text", "label": "points"},
        ),
        (
            "titles of texts",
            "\n".join(
                ["title,synopsis,label", *(f"{text[:9]} {n},{text},{topic(text)}" for n, text in enumerate(TEXTS))]
            ),
            [],
            {"text": "synopsis", "label": "label"},
        ),
        (
            "labels that rarely stand alone",
            "text;genres\n"
            + "".join(f"{text};{GENRES[n % 6]}, {GENRES[n // 6 % 5]}\n" for n, text in enumerate(TEXTS)),
            [],
            {"task": "multi_label", "label": "genres", "separator": ","},
        ),
        (
            "MRPC",
            "Quality,#1 ID,#2 ID,#1 String,#2 String\n"
            + "".join(f"{n % 2},{n},{n + 900},{text},{TEXTS[-n]}\n" for n, text in enumerate(TEXTS)),
            [],
            {"text": "#1 String", "second_text": "#2 String", "label": "Quality", "task": "classification"},
        ),
        (
            "WikiQA",
            "QuestionID,Question,DocumentTitle,Sentence,Label\n"
            + "".join(f"Q{n},{text},{text[:8]},{TEXTS[-n]},{n % 2}\n" for n, text in enumerate(TEXTS)),
            [],
            {"text": "Question", "second_text": "Sentence", "label": "Label"},
        ),
    ],
)
def test_what_tables_usually_hold_is_guessed(tmp_path, checkpoint, name, content, options, fields):
    rows, job = tmp_path / "rows.csv", tmp_path / "job.toml"
    rows.write_text(content.rstrip('"'))
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job), *options]) == 0
    source = load_settings(job).examples
    assert {field: getattr(source, field) for field in fields} == fields


@pytest.mark.parametrize(
    ("tags", "wrong", "scheme"),
    [
        (("B-x", "I-x", "O", "B-y"), "I-x", "BIO"),
        (("B-x", "I-x", "O", "B-y"), "0", "the tag must be O, or B- or I- with a type, got '0'"),
        (("B-x", "I-x", "O", "B-y"), "[SEP]", "the tag must be O, or B- or I- with a type, got '[SEP]'"),
        (("B-x", "L-x", "O", "U-y"), "L-y", "the tag 'L-y' must follow B-y or I-y, got 'O' before it"),
    ],
)
def test_a_wrong_tag_changes_no_scheme(tmp_path, checkpoint, capfd, tags, wrong, scheme):
    rows, job = tmp_path / "rows.conll", tmp_path / "job.toml"
    sentences = [[wrong, *tags] if place == 6 else ["O", *tags] for place in range(60)]
    blocks = [
        "".join(f"{word} {tag}\n" for word, tag in zip(f"the {text}".split()[:5], row, strict=True))
        for text, row in zip(TEXTS, sentences, strict=True)
    ]
    rows.write_text("\n".join(blocks))
    arguments = ["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]
    if scheme == "BIO":
        assert main(arguments) == 0
        assert load_settings(job).examples.scheme == "BIO"
        assert "warning: 1 entities of train rows begin with an I- tag" in capfd.readouterr().out
    else:
        assert refused(capfd, *arguments) == f"{rows} line 37: {scheme}"


def test_other_readings_are_named_with_their_flags(tmp_path, checkpoint, capfd):
    rows, arguments = tmp_path / "rows.csv", ["init", str(tmp_path / "rows.csv"), "--checkpoint", checkpoint]
    lines = [f"{text[:9]} {n};{text};{'ab'[n % 2]}|{'cd'[n % 4 // 2]}" for n, text in enumerate(TEXTS)]
    rows.write_text("\n".join(["a title;synopsis;label", *lines]))
    assert main([*arguments, "--out", str(tmp_path / "job.toml")]) == 0
    printed = " ".join(capfd.readouterr().out.split())
    assert re.search(r"text: column 'synopsis', [\d.]+ words on average \(--text 'a title' reads 3.\d words\)", printed)
    assert "4 different values that are names (--task multi_label reads several labels, separated by '|')" in printed


def test_labels_that_occur_once_are_named(tmp_path, checkpoint, capfd):
    rows, job = write_reviews(tmp_path), tmp_path / "job.toml"
    rows.write_text(rows.read_text() + "60,an old cow,anmal\n")
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]) == 0
    assert "labels that occur once, mistyped or too rare: 'anmal'" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("columns", "options"), [("Query,Passage,negative", []), ("Question,Document,neg", ["--task", "retrieval"])]
)
def test_a_job_for_queries_and_passages(tmp_path, checkpoint, columns, options):
    rows, job = tmp_path / "rows.csv", tmp_path / "job.toml"
    lines = [f"{text},{' '.join([text] * 3)},{text} {text}" for text in TEXTS]
    rows.write_text("\n".join([columns, *lines]))
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job), *options]) == 0
    settings = load_settings(job)
    source = settings.examples
    assert (source.query, source.passage, *source.negatives) == tuple(columns.split(","))
    assert (settings.fine_tuning.batch_size, settings.fine_tuning.learning_rate) == (64, 2e-5)
    assert settings.max_length == 24


def test_a_file_system_without_hard_links(tmp_path, checkpoint, monkeypatch, capfd):
    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "chmod", refuse)
    job, usual = tmp_path / "job.toml", tmp_path / "usual"
    usual.touch()
    arguments = ["init", str(write_reviews(tmp_path)), "--checkpoint", checkpoint, "--out", str(job)]
    assert main(arguments) == 0
    assert (load_settings(job).name, job.stat().st_mode) == ("reviews", usual.stat().st_mode)
    assert refused(capfd, *arguments).startswith(f"--out must be a file that does not exist, got {job}")
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_half_a_character_is_one_line(tmp_path, checkpoint, capfd):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f'{{"text": "{text} \\ud800", "label": "cow"}}\n' for text in TEXTS))
    line = refused(capfd, "init", file, "--checkpoint", checkpoint, "--out", tmp_path / "job.toml")
    assert line.startswith(f"{file} line 1: field 'text' must be valid Unicode")


def test_the_scale_is_the_largest_similarity_of_all_splits(tmp_path, checkpoint):
    pairs = zip(TEXTS, TEXTS[::-1], strict=True)
    lines = [f"{first},{second},0.{place % 9}" for place, (first, second) in enumerate(pairs)]
    train, test, job = tmp_path / "pairs.csv", tmp_path / "test.csv", tmp_path / "job.toml"
    train.write_text("\n".join(["text,second_text,score", *lines]))
    test.write_text(f"text,second_text,score\n{TEXTS[0]} a,{TEXTS[1]},4.5\n{TEXTS[2]} b,{TEXTS[3]},1\n")
    arguments = ["init", str(train), "--test", str(test), "--checkpoint", checkpoint, "--out", str(job)]
    assert main(arguments) == 0
    assert load_settings(job).examples.scale == 4.5
