"""The texts that a page searches: checked, and their size said, before anything trains."""

import pytest

from components.dsl.errors import InputError
from pipeline.job.checks import check_data
from tests.pipeline.settings.texts import CHECKPOINT, QUERIES, load, refusal, write_checkpoint, write_queries

PAIRS = "[examples]\ntask = 'embedding'\ntrain = 'pairs.tsv'\ntext = 'query'\nsecond_text = 'passage'\n"
TEXTS = "[page]\npath = 'texts.txt'\n"


@pytest.fixture
def folder(tmp_path):
    write_checkpoint(tmp_path)
    write_queries(tmp_path, [("a", "A", "X"), ("b", "B", "Y")])
    rows = [f"a{row}\tb{row}\t{row / 40}" for row in range(40)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["query\tpassage\tlabel", *rows]) + "\n")
    (tmp_path / "texts.txt").write_text("The boat.\nThe <b>harbour</b>.\n\nThe boat.\n")
    return tmp_path


@pytest.mark.parametrize(
    ("job", "overrides", "count", "megabytes"),
    [
        # Two texts of 11 and 24 + 2 * 5 bytes as JSON, each with a comma, and 32 numbers in base64.
        (PAIRS + TEXTS, [], 2, (12 + 33 + 2 * 32 * 4 / 3) / 1e6),
        (QUERIES + TEXTS, ["page.path='texts.txt'"], 2, 0.0),
        (QUERIES + "[page]\n", [], 2, 0.0),
        (QUERIES + "negatives = ['negative']\n[page]\n", ["export.dimension=16"], 4, 0.0),
    ],
)
def test_the_size_is_said_before_the_run(folder, job, overrides, count, megabytes, monkeypatch):
    monkeypatch.chdir(folder)
    *_, line = check_data(load(folder, CHECKPOINT + job, *overrides))
    width = 16 if "export.dimension=16" in overrides else 32
    start = f"page: everybody who gets index.html can read its {count} texts, which add "
    assert line == f"{start}{megabytes:.2f} MB with their vectors of {width} numbers"


@pytest.mark.parametrize(
    ("job", "overrides", "message"),
    [
        (
            "[examples]\ntrain = 'pairs.tsv'\ntext = 'query'\n" + TEXTS,
            [],
            "page is only allowed for embedding and retrieval, got it for classification",
        ),
        (
            PAIRS + "[page]\n",
            [],
            "page.path must be set unless task is retrieval, whose passages are searched, got none",
        ),
        (
            PAIRS + TEXTS,
            ["export.runtimes=['onnx']"],
            "page must be left out where export.runtimes has no 'tflite', whose file the page runs, got ['onnx']",
        ),
        (
            PAIRS + TEXTS,
            ["page.max_megabytes=0.00008"],
            "page.max_megabytes must hold the texts and their vectors of 32 numbers, got 8e-05, which 1 texts fill; "
            "raise it, or search fewer texts",
        ),
        (PAIRS + TEXTS, ["page.max_megabytes=0"], "page.max_megabytes must be positive, got 0"),
        (PAIRS + TEXTS, ["page.path='nothing.txt'"], "page: "),
        ("", [], "page must be left out without [examples], as no step would read it"),
    ],
)
def test_pages_without_a_search_are_refused(folder, job, overrides, message):
    job = job or "[corpus]\npath = 'texts.txt'\n" + TEXTS
    assert refusal(folder, CHECKPOINT + job, *overrides).startswith(message)


def test_blank_texts_are_refused(folder):
    (folder / "texts.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"^page: the corpus .*texts\.txt must hold at least one document, got only"):
        check_data(load(folder, CHECKPOINT + PAIRS + TEXTS))
