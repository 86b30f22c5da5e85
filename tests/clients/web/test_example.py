"""The example for the web, opened in a browser with LiteRT.js: it answers as golden rows say."""

import json

import pytest

from tests.clients.examples import check_answers, copy_example
from tests.clients.web.node import ask
from tests.docs.blocks import REPOSITORY

pytestmark = pytest.mark.web


def test_it_answers_as_golden_rows_say(tmp_path):
    place, rows = copy_example("web", tmp_path)
    texts = [row for row in rows if "second" not in row and row["text"].strip()]
    seen = ask("open_example.mjs", place, given=[row["text"] for row in texts])
    assert seen["errors"] == []
    start, _, difference = seen["golden"].rpartition(" ")
    assert start == "golden.json: logits differ by at most"
    assert float(difference) < 1e-3
    answers = [answer.splitlines() for answer in seen["answers"]]
    sure = [str(lines[-1] != "not sure").lower() for lines in answers]
    first = [lines[0].split() for lines in answers]
    lines = [f"{label}\t{probability}\t{is_sure}" for (probability, label), is_sure in zip(first, sure, strict=True)]
    check_answers(lines, texts, tolerance=6e-4)
    # A row with other ids is found.
    rows[3]["token_ids"][1] += 1
    (place / "model" / "golden.json").write_text(json.dumps(rows))
    assert ask("open_example.mjs", place, given=[])["golden"].startswith("other token ids for [")


def test_its_runtime_is_the_tested_one():
    example, tested = (
        json.loads((REPOSITORY / folder / "package.json").read_text())["dependencies"]
        for folder in ("examples/web", "tests/clients")
    )
    assert example.items() <= tested.items()
