"""What of BigBird's files is read how, and what is refused."""

import pytest

from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.registry import FAMILIES
from keras_bert.interop import hugging_face_config
from keras_bert.interop.heads import Head
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json
from tests.keras_bert.interop.test_families import unpack


@pytest.fixture
def folder(tmp_path):
    return unpack(GOLDEN / "families" / "BigBirdForSequenceClassification.npz", tmp_path / "theirs")[0]


def read(folder):
    family, content = hugging_face_config.read_config(folder)
    return hugging_face_config.read_encoder(folder, family, content)


def test_a_file_that_says_little_is_read_as_transformers_reads_it(folder):
    keys = ("attention_type", "block_size", "num_random_blocks", "hidden_act", "type_vocab_size")
    change_json(folder / "config.json", **dict.fromkeys((*keys, "max_position_embeddings")))
    config = read(folder)
    assert (config.variant, config.max_length, config.num_segments) == (BigBird(), 4096, 2)


def test_a_classifier_on_a_pooler_is_none_of_theirs(folder):
    config, family = read(folder), FAMILIES["big_bird"]
    assert config.pooler_activation == config.activation == "gelu_tanh"
    head = Head(task="classification", labels=("a", "b"), dropout=0.1)
    assert hugging_face_config.write_config(config, head, family, 0, 3)["sep_token_id"] == 3
    with pytest.raises(
        ValueError, match=r"pooler_activation must be 'tanh' under a head for pretraining, .*'gelu_tanh'"
    ):
        hugging_face_config.write_config(config, Head(task="pretraining", next_sentence=True), family, 0, 3)
