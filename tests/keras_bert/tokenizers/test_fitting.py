"""A vocabulary cut down: what stays, and that texts of what stays are cut as before."""

import numpy as np
import pytest

from keras_bert.tokenizers.fitting import choose_vocabulary, reduce_tokenizer
from keras_bert.tokenizers.loading import load_tokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tokenizers.subwords import TEXTS, content

PIECES = ["a", "b", "l", "##a", "##b", "##l", "é", "##é", "世", "able", "##able", "ball", "ab", "##all", "rest"]
KINDS = ("wordpiece", "bpe", "modern", "unigram", "gemma", "llama", "added")


def make(kind):
    if kind == "wordpiece":
        return Tokenizer([*SPECIAL_TOKENS, "[unused0]", *PIECES], lowercase=True)
    return SubwordTokenizer(content(kind))


def count(tokenizer, texts):
    ids = tokenizer.tokenize(texts).flat_values.numpy()
    return np.bincount(ids, minlength=tokenizer.vocabulary_size)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_that_were_counted_are_cut_into_the_same_pieces(kind):
    tokenizer = make(kind)
    texts = {"wordpiece": ["ball able", "abable"], "unigram": ["one a one"]}.get(kind, list(TEXTS[:3]))
    fewer = reduce_tokenizer(tokenizer, choose_vocabulary(tokenizer, count(tokenizer, texts)))
    assert fewer.vocabulary_size < tokenizer.vocabulary_size
    assert (fewer.special, fewer.between, fewer.kind) == (tokenizer.special, tokenizer.between, tokenizer.kind)

    def pieces(which, ids):
        return [[which.vocabulary[number] for number in row] for row in ids]

    assert pieces(fewer, fewer.tokenize(texts).to_list()) == pieces(tokenizer, tokenizer.tokenize(texts).to_list())
    ours, theirs = (splitter.tokenize_with_offsets(texts) for splitter in (fewer, tokenizer))
    assert [splitter.to_list() for splitter in ours[1:]] == [splitter.to_list() for splitter in theirs[1:]]
    rows = [splitter.encode(texts, max_length=60)["token_ids"].numpy().tolist() for splitter in (fewer, tokenizer)]
    assert pieces(fewer, rows[0]) == pieces(tokenizer, rows[1])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_cut_tokenizer_is_saved_and_can_be_cut_again(kind, tmp_path):
    tokenizer = make(kind)
    fewer = reduce_tokenizer(tokenizer, choose_vocabulary(tokenizer, count(tokenizer, list(TEXTS[:1]))))
    fewer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert again.vocabulary == fewer.vocabulary
    text = [TEXTS[0][:4]]
    least = reduce_tokenizer(again, choose_vocabulary(again, count(again, text)))
    assert least.vocabulary_size < again.vocabulary_size < tokenizer.vocabulary_size
    assert [least.vocabulary[n] for n in least.tokenize(text).to_list()[0]] == [
        tokenizer.vocabulary[n] for n in tokenizer.tokenize(text).to_list()[0]
    ]


def chosen(counts, **settings):
    tokenizer = make("wordpiece")
    all_counts = np.array([counts.get(piece, 0) for piece in tokenizer.vocabulary])
    return [tokenizer.vocabulary[number] for number in choose_vocabulary(tokenizer, all_counts, **settings)]


def test_what_is_kept_by_count_and_by_size():
    letters = ["a", "b", "l", "##a", "##b", "##l"]
    assert chosen({}) == [*SPECIAL_TOKENS, *letters]
    # A character beyond ASCII is spelt where it was seen, at the start of a word and inside one.
    assert chosen({"é": 1}) == [*SPECIAL_TOKENS, *letters, "é", "##é"]
    seen = {"ball": 3, "able": 1}
    assert chosen(seen) == [*SPECIAL_TOKENS, *letters, "able", "ball"]
    assert chosen(seen, min_count=2) == [*SPECIAL_TOKENS, *letters, "ball"]
    base = [*SPECIAL_TOKENS, "a", "b", "l", "##a", "##b", "##l"]
    assert chosen({"ball": 3, "able": 1}, size=len(base) + 1) == [*base, "ball"]
    # Five more: what was seen, then the first of the others.
    assert set(chosen({"rest": 1}, size=len(base) + 3)) == {*base, "rest", "[unused0]", "é"}
    with pytest.raises(ValueError, match=r"^choose_vocabulary.size must be at least 11 for these texts, got 10$"):
        chosen({}, size=10)
    with pytest.raises(ValueError, match=r"^choose_vocabulary.min_count must be at least 1, got 0$"):
        chosen({}, min_count=0)
    with pytest.raises(ValueError, match=r"must hold \[PAD\]"):
        reduce_tokenizer(make("wordpiece"), [1, 2, 3, 4])


def test_a_size_holds_with_all_that_merges_into_a_piece():
    tokenizer = make("bpe")
    counts = count(tokenizer, list(TEXTS))
    least = len(choose_vocabulary(tokenizer, 0 * counts))
    for size in range(least, least + 12):
        kept = choose_vocabulary(tokenizer, counts, size=size)
        assert len(kept) <= size
        fewer = reduce_tokenizer(tokenizer, kept)
        # Each piece can still be made: it is the one piece of its own text.
        for text in TEXTS:
            assert fewer.unknown_id not in fewer.tokenize([text]).to_list()[0]
