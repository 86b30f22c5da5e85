import pytest

from keras_bert.tokenizers.learning import learn_subwords
from keras_bert.tokenizers.loading import load_tokenizer
from tests import forked
from tests.keras_bert.tokenizers.subwords import TEXTS

SIZES = {"bpe": 300, "unigram": 50}


@pytest.mark.parametrize("kind", SIZES)
def test_pieces_of_texts(kind):
    learnt = learn_subwords(TEXTS, kind, SIZES[kind], lowercase=True)
    assert (learnt.kind, learnt.vocabulary_size) == (kind, SIZES[kind])
    ids = learnt.tokenize(["Old cows went over the bridge"]).to_list()[0]
    assert learnt.unknown_id not in ids
    assert len(ids) < 20, "some pieces are longer than a character"
    assert (learnt.pad_id, learnt.between, learnt.second_segment) == ((1, 2, 1) if kind == "bpe" else (0, 1, 1))


def learn(file):
    """What the other process does."""
    file.write_text("\n".join(learn_subwords(TEXTS * 50, "bpe", 300, lowercase=False).vocabulary))


def test_another_process_learns_the_same(tmp_path):
    learn(tmp_path / "here")
    forked.run(learn, tmp_path / "there")
    assert (tmp_path / "there").read_text() == (tmp_path / "here").read_text()


def test_pieces_stand_by_their_scores_and_impossible_vocabularies_are_refused():
    vocabulary = learn_subwords(TEXTS, "unigram", 50, lowercase=False).definition()["model"]["vocab"]
    assert [piece for piece, _ in vocabulary[:5]] == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    assert vocabulary[5:] == sorted(vocabulary[5:], key=lambda entry: (-entry[1], entry[0]))
    with pytest.raises(ValueError, match="kind must be 'bpe' or 'unigram', got 'wordpiece'"):
        learn_subwords(TEXTS, "wordpiece", 100, lowercase=True)
    with pytest.raises(ValueError, match=r"size must be at most \d+ for these texts, got 9000"):
        learn_subwords(TEXTS, "unigram", 9000, lowercase=True)


@pytest.mark.parametrize("kind", SIZES)
def test_pieces_of_texts_with_line_ends_are_saved_and_loaded(kind, tmp_path):
    texts = ["\n".join(text.split()) for text in TEXTS] + ["old\tcows\r\nold\u2028cows\x85old cows"] * 9
    learnt = learn_subwords(texts, kind, SIZES[kind], lowercase=True)
    learnt.save(tmp_path)
    assert load_tokenizer(tmp_path).vocabulary == learnt.vocabulary
    ids = learnt.tokenize(["old cows", "old\ncows", "old\u2028 cows"]).to_list()
    if kind == "unigram":
        assert ids[0] == ids[1] == ids[2], "line ends part words as blanks do"
