"""The self-test in JavaScript: it passes, and names the part of each planted fault."""

import pytest

from keras_bert.clients.page import write_tokenizers
from tests.clients.web.node import ask
from tests.keras_bert.clients.test_self_test import FILE, PARTS, write_folder

pytestmark = pytest.mark.web


def test_each_planted_fault_is_named(tmp_path):
    folder = write_folder(tmp_path / "model")
    write_tokenizers(folder)
    for said, part in zip(ask("ask_self_test.mjs", folder, FILE, given=[*PARTS]), PARTS.values(), strict=True):
        assert part in said
        assert bool(part) == bool(said)


@pytest.mark.parametrize("kind", ["token_classification", "question_answering", "embedding", "multi_label"])
def test_passes_for_other_tasks(kind, tmp_path):
    folder = write_folder(tmp_path / kind, kind)
    write_tokenizers(folder)
    assert ask("ask_self_test.mjs", folder, FILE, given=["none"]) == [""]
