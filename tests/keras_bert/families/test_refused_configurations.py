"""Configurations of transformers that the graphs besides BERT's do not have: refused before weights are read."""

import pytest

from keras_bert.interop.hugging_face import read_model
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json
from tests.keras_bert.interop.test_families import unpack

# Reference of a class -> what its configuration is changed to, and the refusal.
REFUSED = {
    "BigBirdForSequenceClassification": [
        ({"attention_type": "full"}, r"attention_type must be one of \['block_sparse', 'original_full'\], got 'full'"),
        ({"block_size": 0}, "BigBird.block_size must be positive, got 0"),
        ({"use_bias": False}, "use_bias must be True, got False, which is not supported"),
        ({"rescale_embeddings": True}, "rescale_embeddings must be False, got True, which is not supported"),
    ],
    "LongformerForQuestionAnswering": [
        ({"attention_window": 7}, "Longformer.window must be a multiple of 2, got 7"),
        ({"attention_window": [4]}, r"attention_window must be a number or list one for each of 2 layers, got \[4\]"),
        ({"attention_window": "4"}, "attention_window must be a whole number, got '4'"),
        ({"pad_token_id": 0}, "pad_token_id must be 1, got 0, which is not supported"),
    ],
    "MobileBertModel": [
        ({"use_bottleneck": False}, "use_bottleneck must be True, got False, which is not supported"),
        ({"trigram_input": False}, "trigram_input must be True, got False, which is not supported"),
        (
            {"use_bottleneck_attention": True},
            "key_query_shared_bottleneck must be False where use_bottleneck_attention is True, got True",
        ),
        (
            {"key_query_shared_bottleneck": False},
            "key_query_shared_bottleneck must be True where use_bottleneck_attention is False, got False",
        ),
        ({"normalization_type": "rms_norm"}, "MobileBERT.normalization must be .*, got 'rms_norm'"),
        ({"num_feedforward_networks": "4"}, "num_feedforward_networks must be of type int, got '4'"),
        ({"classifier_activation": "tanh"}, r"classifier_activation must be one of \[True, False\], got 'tanh'"),
        ({"intra_bottleneck_size": 7}, "bottleneck_size must be a multiple of num_heads=2, got 7"),
        ({"embedding_size": 16}, "embedding_size must be set and below hidden_size=16"),
    ],
    "DebertaV2Model": [
        ({"relative_attention": None}, "relative_attention must be True, got False"),
        ({"pos_att_type": "p2c|p2p"}, r"pos_att_type must name one or both of \['c2p', 'p2c'\], got"),
        ({"pos_att_type": None}, "pos_att_type must name .*, got None"),
        ({"norm_rel_ebd": "batch"}, "norm_rel_ebd must be 'none' or 'layer_norm', got 'batch'"),
        ({"position_buckets": "8"}, "position_buckets must be a whole number, got '8'"),
        ({"position_buckets": 3}, "DeBERTa.position_buckets must be 0 or at least 4, got 3"),
        ({"share_att_key": "yes"}, "share_att_key must be true or false, got 'yes'"),
        ({"attention_head_size": 4}, "attention_head_size must be 8, got 4, which is not supported"),
        ({"embedding_size": 8}, "embedding_size must be 16, got 8, which is not supported"),
        ({"pooler_hidden_act": "tanh"}, "pooler_hidden_act must be 'gelu', got 'tanh'"),
    ],
    "DebertaV2ForTokenClassification": [
        ({"conv_act": "swish"}, "conv_act must be one of .*, got 'swish'"),
        ({"conv_groups": 2}, "conv_groups must be 1, got 2"),
    ],
    "DebertaModel": [({"talking_head": True}, "talking_head must be False, got True")],
}


@pytest.mark.parametrize(
    ("name", "changes", "message"), [(name, *row) for name, rows in REFUSED.items() for row in rows]
)
def test_configuration_is_refused(name, changes, message, tmp_path):
    folder = unpack(GOLDEN / "families" / f"{name}.npz", tmp_path / "theirs")[0]
    (folder / "model.safetensors").unlink()
    change_json(folder / "config.json", **changes)
    with pytest.raises(ValueError, match=rf"config\.json: .*{message}"):
        read_model(folder)
