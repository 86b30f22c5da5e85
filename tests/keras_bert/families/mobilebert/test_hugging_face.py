"""What of MobileBERT's files is left out, and what is refused."""

import numpy as np
import pytest

from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.presets import preset
from keras_bert.families.registry import family_of
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import read_model
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json, change_tensors, run
from tests.keras_bert.interop.test_families import unpack

IDS = np.array([[3, 5, 4], [7, 9, 8]], "int32")


@pytest.fixture
def folder(tmp_path):
    return unpack(GOLDEN / "families" / "MobileBertModel.npz", tmp_path / "theirs")[0]


def test_a_file_that_says_little_is_read_as_transformers_reads_it(folder):
    keys = (
        "embedding_size",
        "intra_bottleneck_size",
        "num_feedforward_networks",
        "normalization_type",
        "architectures",
    )
    further = ("use_bottleneck", "use_bottleneck_attention", "key_query_shared_bottleneck", "trigram_input")
    sizes = {"hidden_size": 512, "num_attention_heads": 4}
    change_json(folder / "config.json", **dict.fromkeys((*keys, *further, "classifier_activation")), **sizes)
    family, content = hugging_face_config.read_config(folder)
    config = hugging_face_config.read_encoder(folder, family, content)
    assert (config.variant, config.embedding_size, config.pooler_activation) == (MobileBERT(), 128, "tanh")
    assert hugging_face_config.architecture_of(folder, family, content) == "MobileBertForPreTraining"


def test_a_pooler_without_weights_is_there_all_the_same(folder):
    change_json(folder / "config.json", classifier_activation=False)
    change_tensors(folder, lambda held: {name: array for name, array in held.items() if "pooler" not in name})
    inputs = {"token_ids": IDS, "segment_ids": IDS * 0, "padding_mask": IDS * 0 + 1}
    outputs = run(read_model(folder), inputs)
    np.testing.assert_array_equal(outputs["pooled_output"], outputs["sequence_output"][:, 0])


def test_the_family_of_an_encoder_with_bottlenecks():
    assert family_of(preset("mobilebert-uncased"), None, pooler=True).name == "mobilebert"
