"""Texts that a page searches, and what they take in it."""

import base64
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from keras_bert.clients.page import PageScore, write_page, write_tokenizers
from keras_bert.clients.search_corpus import embed_corpus, page_bytes
from keras_bert.core.vector_codes import int8_codes
from keras_bert.export.bundle import load_exported
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import make_task

TEXTS = ["A great film.", "</script><b>dull</b>", 'The "plot" \\ \u2028 \U0001f600']


def test_texts_and_vectors_are_in_the_page(tmp_path):
    folder = export_folder(make_task("embedding"), tmp_path)
    write_tokenizers(folder)
    write_page(folder, "search", PageScore("pearson", 0.5, 32))
    without, corpus = len((folder / "index.html").read_bytes()), embed_corpus(load_exported(folder), TEXTS)
    write_page(folder, "search", PageScore("pearson", 0.5, 32), corpus)
    page = (folder / "index.html").read_text(encoding="utf-8")
    texts, codes = (re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL) for name in ("texts", "codes"))
    assert texts is not None
    assert codes is not None
    assert json.loads(texts[1]) == TEXTS
    vectors = np.frombuffer(base64.b64decode(codes[1]), "int8").reshape(3, -1)
    np.testing.assert_array_equal(vectors, int8_codes(load_exported(folder).predict(TEXTS)))
    assert "on 32 test rows · searches 3 texts<" in page
    assert page.count("<script") == page.count("</script>") == 5
    added = len(page.encode()) - without
    assert abs(added - sum(page_bytes(text, 32) for text in TEXTS)) < 200, "the elements themselves"


def test_passages_get_their_prompt_and_progress_is_reported():
    task = make_task("embedding")
    prompted = type(task)(task.model, task.tokenizer, max_length=32, prompts={"query": "a ", "passage": "film "})
    texts, reports = [f"plot {number}" for number in range(1001)], list[int]()
    corpus = embed_corpus(prompted, texts, reports.append)
    assert reports == [1000, 1001]
    np.testing.assert_array_equal(corpus.codes[:2], int8_codes(task.predict(["film plot 0", "film plot 1"])))


def test_page_and_script_refuse_vectors_of_another_space(tmp_path):
    folder = export_folder(make_task("embedding"), tmp_path)
    write_tokenizers(folder)
    corpus = embed_corpus(load_exported(folder), TEXTS)
    assert corpus.space == json.loads((folder / "task.json").read_text())["space"]
    assert f'data-space="{corpus.space}"' in corpus.scripts()
    other = corpus._replace(space="0123456789abcdef")
    with pytest.raises(ValueError, match=f"be of the model's space, {corpus.space}: embed the texts again"):
        write_page(folder, "search", PageScore("pearson", 0.5, 32), other)
    script = Path(keras_bert.__file__).parent / "clients/search.js"
    code = f"""
        import {{ SearchCorpus }} from {json.dumps(str(script))};
        const corpus = new SearchCorpus(["a", "b"], Int8Array.from([127, 0, 0, 127]), "0123456789abcdef");
        console.log([undefined, "0123456789abcdef", "{corpus.space}"].map((space) => {{
          try {{ return corpus.search(Float32Array.from([0, 1]), 1, space)[0].text; }}
          catch (error) {{ return error.message; }}
        }}).join("\\n"));
        for (const vector of [[1], [0, 1, 5]]) {{
          try {{ console.log(corpus.search(Float32Array.from(vector), 1)); }}
          catch (error) {{ console.log(error.message); }}
        }}
    """
    command = ["node", "--input-type=module", "--eval", code]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[:2] == ["b", "b"]
    # The similarities were NaN, or those of the first numbers.
    rule = "vector must be 2 numbers, as the vectors of the texts, got"
    assert lines[3:] == [f"{rule} 1", f"{rule} 3"]
    assert lines[2] == (
        f"the texts must have vectors of the model's space, {corpus.space}, got vectors of the space 0123456789abcdef: "
        "embed the texts again with this model, or train it into their space"
    )
