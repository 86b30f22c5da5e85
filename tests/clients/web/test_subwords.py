"""The tokenizer of subwords in JavaScript against the library's, and pages of models with such tokenizers."""

from pathlib import Path

import numpy as np
import pytest

from keras_bert.clients.golden import make_golden_rows
from keras_bert.clients.page import PageScore, find_page_obstacle, write_page, write_tokenizers
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.clients.subword_fuzz import FAMILIES, check_subwords, make_tokenizer
from tests.clients.web.node import ask
from tests.keras_bert.clients.exported import export_folder
from tests.keras_bert.export.word_tasks import make_task

pytestmark = pytest.mark.web

FILE = "model_float32.tflite"
# A family -> the settings of its encoder.
ENCODERS = {
    "roberta": {"num_segments": 1, "position_offset": 2},
    "albert": {"embedding_size": 16, "shared_layers": True},
    "deberta": {"num_segments": 0, "variant": DeBERTa()},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family, tmp_path):
    check_subwords(["node", str(Path(__file__).with_name("split_text.mjs"))], family, tmp_path)


@pytest.mark.parametrize("family", ENCODERS)
@pytest.mark.parametrize("kind", ["classification", "question_answering", "token_classification"])
def test_a_page_answers_as_here(family, kind, tmp_path):
    tokenizer = SubwordTokenizer(make_tokenizer(family).definition())
    folder = export_folder(make_task(kind, tokenizer=tokenizer, **ENCODERS[family]), tmp_path)
    write_tokenizers(folder)
    assert find_page_obstacle(folder) == ""
    write_page(folder, family, PageScore("accuracy", 0.9375, 32))
    rows = make_golden_rows(folder)
    for row, actual in zip(rows, ask("ask_page.mjs", folder, FILE, given=rows), strict=True):
        for name in ("token_ids", "segment_ids", "padding_mask"):
            assert actual["row"][name] == row.get(name, actual["row"][name])
        expected = np.ravel(row["outputs"][FILE])
        np.testing.assert_allclose(actual["output"][: len(expected)], expected, atol=1e-5)
    text = "The cow went over the old bridge."
    given = [{"text": text, "second": text} if kind == "question_answering" else {"text": text}]
    (seen,) = ask("open_page.mjs", folder / "index.html", given=given)
    assert seen["asked"] == seen["errors"] == []
    assert seen["answer"]
