import pytest

from keras_bert.core.config import EncoderShape
from keras_bert.families.bigbird.settings import BigBird

SHAPE = {"num_layers": 3, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6}


def test_up_to_which_length_a_text_is_seen_whole():
    # transformers: (5 + 2 x num_random_blocks) x block_size.
    assert BigBird().longest_full == 704
    assert BigBird(block_size=2, random_blocks=0).longest_full == 10


def test_layers_do_not_share_a_block():
    with pytest.raises(ValueError, match="shared_layers must be False with the variant 'bigbird', got True"):
        EncoderShape(**SHAPE, shared_layers=True, variant=BigBird())
