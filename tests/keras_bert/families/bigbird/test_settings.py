from keras_bert.families.bigbird.settings import BigBird


def test_up_to_which_length_a_text_is_seen_whole():
    # transformers: (5 + 2 x num_random_blocks) x block_size.
    assert BigBird().longest_full == 704
    assert BigBird(block_size=2, random_blocks=0).longest_full == 10
