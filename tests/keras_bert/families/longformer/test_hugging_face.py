"""What of Longformer's files is read how, and what is refused."""

import pytest

from keras_bert.families.longformer.settings import Longformer
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import read_model
from keras_bert.models.global_tokens import global_tokens_of
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json
from tests.keras_bert.interop.test_families import unpack


@pytest.fixture
def folder(tmp_path):
    return unpack(GOLDEN / "families" / "LongformerForQuestionAnswering.npz", tmp_path / "theirs")[0]


def read(folder):
    family, content = hugging_face_config.read_config(folder)
    return hugging_face_config.read_encoder(folder, family, content)


@pytest.mark.parametrize(
    ("said", "variant"),
    [
        (None, Longformer(window=512)),
        (6, Longformer(window=6)),
        ([6, 6], Longformer(window=6)),
        ([6, 8], Longformer(windows=(6, 8))),
    ],
)
def test_one_window_or_one_for_each_layer(folder, said, variant):
    change_json(folder / "config.json", attention_window=said)
    assert read(folder).variant == variant


def test_the_separator_of_questions(folder):
    chosen = global_tokens_of(read_model(folder))
    assert (chosen.kind, chosen.separator) == ("question", 3)
    change_json(folder / "config.json", sep_token_id=None)
    assert global_tokens_of(read_model(folder)).separator == 2  # as transformers takes it for granted
    change_json(folder / "config.json", sep_token_id="</s>")
    with pytest.raises(ValueError, match=r"config.json: sep_token_id must be a whole number, got '</s>'"):
        read_model(folder)
