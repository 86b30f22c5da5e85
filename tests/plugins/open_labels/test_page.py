"""The page of a model of labels as data, to which labels are added."""

import re
import shutil
import subprocess

import pytest

from keras_bert.clients.page import PageScore, find_page_obstacle, page_code, write_page, write_tokenizers
from plugins.open_labels.task import OpenLabels, open_labels
from tests.clients.web.node import ask
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import make_task

TEXTS = [f"{start} {end}" for start in ("Ada met", "the boat") for end in ("a boat", "London", "Ada", "in London")]
LABELS = [text.split()[0] for text in TEXTS]
NEW = "in in the harbour"


@pytest.fixture(scope="module")
def task():
    return open_labels(make_task("embedding"), TEXTS, LABELS)


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory):
    folder = export_folder(task, tmp_path_factory.mktemp("open_labels"))
    write_tokenizers(folder)
    write_page(folder, "intents", PageScore("accuracy", 0.9375, 32))
    return folder


def test_the_page_has_the_scripts_of_the_task_in_a_scope_of_their_own(folder):
    assert find_page_obstacle(folder) == ""
    code = page_code("characters.txt", OpenLabels.page_scripts)
    assert not re.search(r"^(import|export) ", code, re.MULTILINE)
    core, scope = code.rsplit("\n{\n", 1)
    assert "class LabelTable" in scope
    assert core.rstrip() == page_code("characters.txt").rstrip()
    assert "class LabelTable" in (folder / "index.html").read_text()


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_script_is_a_module(tmp_path):
    (tmp_path / "page.mjs").write_text(page_code("characters.txt", OpenLabels.page_scripts))
    subprocess.run(["node", "--check", str(tmp_path / "page.mjs")], check=True)


@pytest.mark.web
def test_labels_are_added_where_the_page_is_open(task, folder):
    steps = [
        {"text": TEXTS[0]},
        {"text": NEW, "label": "harbour", "click": "Add"},
        {"text": NEW, "label": "harbour", "click": "Enter"},
        {"text": NEW, "click": "Save what was added"},
        {"text": NEW, "click": "Undo"},
        {"text": NEW, "click": "Undo"},
        {"text": NEW, "click": "Undo"},
        {"label": "small_boat", "click": "Add"},
        {"label": "small_boat", "click": "Add"},
        {"text": NEW, "label": " ", "click": "Add"},
    ]
    result = ask("label_page.mjs", folder / "index.html", given=steps)
    assert result["errors"] == []
    grown = task.table.copy()
    vector = task.predict([NEW])
    grown.add("harbour", vector)
    grown.add_examples("harbour", vector)
    tables = [task.table, None, grown, grown, None, task.table, task.table]
    for step, seen, table in zip(steps, result["seen"], tables, strict=False):
        if table is not None:
            (answer,) = table.answer(task.predict([step["text"]]))
            bars = seen["answer"].removeprefix("none of the labels").split()
            assert bars[0] == table.labels[table.scores(task.predict([step["text"]]))[0].argmax()]
            assert float(bars[1]) == pytest.approx(answer.probability, abs=2e-3)
            assert seen["answer"].startswith("none of the labels") == (answer.label is None)
    messages = [seen["message"] for seen in result["seen"]]
    assert [re.sub(r"\D", "", message) for message in messages[:6]] == ["2", "3", "3", "3", "3", "2"]
    assert messages[6] == "undo must follow a change"
    assert messages[7] == "3 labels"
    assert [seen["failed"] for seen in result["seen"]] == [False] * 6 + [True, False, True, True]
    assert result["seen"][3]["saved"] == [len(grown.export())]
