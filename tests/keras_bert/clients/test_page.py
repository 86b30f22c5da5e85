"""How the page is made; `tests/clients/test_page.py` opens it."""

import base64
import json
import re

import pytest
from ai_edge_litert.schema_py_generated import BuiltinOperator

from keras_bert.clients import page
from keras_bert.clients.page import (
    TOKENIZER_SOURCES,
    PageScore,
    find_page_obstacle,
    page_code,
    page_operations,
    write_page,
    write_tokenizers,
)
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import PIECES, make_task


def read_golden(folder):
    return json.loads((folder / "golden.json").read_text())


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = export_folder(make_task("classification"), tmp_path_factory.mktemp("exported"))
    settings = json.loads((folder / "task.json").read_text())
    settings["labels"][0] = "</script><b>&good"
    (folder / "task.json").write_text(json.dumps(settings))
    return folder


def test_all_is_in_the_page(exported):
    write_tokenizers(exported)
    assert find_page_obstacle(exported) == ""
    write_page(exported, "<reviews>", PageScore("accuracy", 0.9375, 32))
    text = (exported / "index.html").read_text()
    model = re.search(r'id="model">([^<]*)<', text)
    about = re.search(r'id="about">([^<]*)<', text)
    assert model is not None
    assert about is not None
    assert base64.b64decode(model[1]) == (exported / "model_float32.tflite").read_bytes()
    content = json.loads(about[1])
    assert content["pieces"] == list(PIECES)
    assert content["task"]["labels"][0] == "</script><b>&good"
    assert content["rules"] == (exported / "characters.txt").read_text()
    assert "<title>&lt;reviews&gt;</title>" in text
    assert "accuracy 93.75 on 32 test rows" in text
    assert text.count("<script") == text.count("</script>") == 3
    assert not re.search(r"(src|href)=(?!\"data:)|https?:", text), "nothing from elsewhere"


@pytest.mark.parametrize(("pairs", "sides"), [(True, 2), (False, 1), (None, 1)])
def test_two_golden_texts_are_offered_of_pairs_both_sides(exported, pairs, sides):
    write_tokenizers(exported)
    settings = json.loads((exported / "task.json").read_text())
    (exported / "task.json").write_text(json.dumps({**settings, "pairs": pairs}))
    write_page(exported, "reviews", PageScore("accuracy", 0.9375, 32))
    about = re.search(r'id="about">([^<]*)<', (exported / "index.html").read_text())
    assert about is not None
    examples = json.loads(about[1])["examples"]
    golden = [[row["text"], *([row["second"]] if "second" in row else [])] for row in read_golden(exported)]
    assert [len(example) for example in examples] == [sides, sides]
    assert all(example in golden and all(text.strip() for text in example) for example in examples)


@pytest.mark.parametrize("rules", TOKENIZER_SOURCES)
def test_the_scripts_are_one(rules):
    assert not re.search(r"^(import|export) ", page_code(rules), re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", page_code(rules), re.MULTILINE)
    assert sorted(names) == sorted(set(names))


def test_operations_have_their_numbers_from_litert():
    code = page_code("characters.txt")
    for name in page_operations():
        assert f'  {getattr(BuiltinOperator, name)}: ["{name}"' in code


def test_an_obstacle_is_told(exported, tmp_path, monkeypatch):
    assert find_page_obstacle(tmp_path) == "there is no file for LiteRT"
    (tmp_path / "model.tflite").write_bytes((exported / "model_float32.tflite").read_bytes())
    (tmp_path / "tokenizer.json").write_text('{"model": {}, "normalizer": {"type": "Nmt"}}')
    write_tokenizers(tmp_path)
    assert find_page_obstacle(tmp_path) == "there are no rules of its tokenizer for apps"
    assert not (tmp_path / "tokenizers").exists()
    (tmp_path / "characters.txt").write_text("")
    (tmp_path / "task.json").write_text('{"task": "summaries"}')
    assert find_page_obstacle(tmp_path) == "the page cannot show answers of the task summaries"
    (tmp_path / "task.json").write_text('{"task": "classification"}')
    operations = page_operations()
    monkeypatch.setattr(page, "page_operations", lambda: operations - {"SOFTMAX", "GELU"})
    assert find_page_obstacle(tmp_path) == "the page cannot run the operations GELU, SOFTMAX"
