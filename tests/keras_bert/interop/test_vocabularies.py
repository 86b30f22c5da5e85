import json

import pytest

from keras_bert.interop.vocabularies import Vocabulary, read_vocabulary, write_vocabulary
from tests.keras_bert.interop.checkpoints import GOLDEN, PIECES, change_json, copy_golden


@pytest.fixture
def folder(tmp_path):
    """As transformers 5 writes a tokenizer: no vocab.txt."""
    return copy_golden("hugging_face_bert_model", tmp_path)


@pytest.fixture
def written(tmp_path):
    write_vocabulary(tmp_path, Vocabulary(PIECES, False, 20))
    return tmp_path


def change_part(folder, part, **changes):
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    change_json(path, **{part: {**content[part], **changes}})


def test_what_is_written_is_read(written):
    assert read_vocabulary(written) == Vocabulary(PIECES, False, 20)


def test_a_vocabulary_inside_tokenizer_json(folder):
    vocabulary = read_vocabulary(folder)
    assert vocabulary.pieces[:6] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the")
    assert len(vocabulary.pieces) == 59
    assert vocabulary[1:] == (True, None)


def test_tokenizer_json_alone(folder):
    (folder / "tokenizer_config.json").unlink()
    assert read_vocabulary(folder) == read_vocabulary(GOLDEN / folder.name)


def test_lines_end_as_on_windows(written):
    (written / "vocab.txt").write_bytes("\r\n".join(PIECES).encode())
    assert read_vocabulary(written).pieces == PIECES


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenize_chinese_chars": False}, "tokenizer_config.json: tokenize_chinese_chars must be True, got False"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize must be True, got False"),
        ({"truncation_side": "left"}, "truncation_side must be 'right', got 'left'"),
        ({"strip_accents": True}, "strip_accents must be null or what lowercasing is, False, got True"),
        ({"never_split": ["x"]}, r"never_split must be empty, got \['x'\]"),
        (
            {"tokenizer_class": "BertJapaneseTokenizer"},
            "tokenizer_class must be one of .*, got 'BertJapaneseTokenizer'",
        ),
        ({"unk_token": "<unk>"}, r"unk_token must be '\[UNK\]', got '<unk>'"),
        ({"unk_token": {"content": "<unk>"}}, r"unk_token must be '\[UNK\]', got '<unk>'"),
        ({"added_tokens_decoder": {"9": {"content": "<e>"}}}, r"added tokens must be .*, got \['<e>'\] besides"),
        ({"do_lower_case": None}, "must say whether text is lowercased: `do_lower_case` in tokenizer_config.json"),
    ],
)
def test_settings_that_the_tokenizer_does_not_have(changes, message, written):
    change_json(written / "tokenizer_config.json", **changes)
    with pytest.raises(ValueError, match=message):
        read_vocabulary(written)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("model", {"type": "BPE"}, "tokenizer.json: type must be 'WordPiece', got 'BPE'"),
        ("model", {"continuing_subword_prefix": "@@"}, "continuing_subword_prefix must be '##', got '@@'"),
        ("model", {"vocab": {"a": 0, "b": 2}}, "model.vocab must map pieces to the ids from 0 on, each once"),
        ("normalizer", {"handle_chinese_chars": False}, "handle_chinese_chars must be True, got False"),
        ("normalizer", {"clean_text": False}, "clean_text must be True, got False"),
        ("normalizer", {"strip_accents": False}, "strip_accents must be null or what lowercasing is, True, got False"),
        ("normalizer", {"lowercase": False}, "the files must agree on whether text is lowercased, got {.*True.*False}"),
    ],
)
def test_tokenizers_that_are_not_berts(part, changes, message, folder):
    change_part(folder, part, **changes)
    with pytest.raises(ValueError, match=message):
        read_vocabulary(folder)


def test_added_tokens(folder):
    change_json(folder / "tokenizer.json", added_tokens=[{"id": 59, "content": "<e>"}])
    with pytest.raises(ValueError, match=r"tokenizer.json: added tokens must be .* got \['<e>'\] besides"):
        read_vocabulary(folder)


def test_no_tokenizer_of_hugging_face(written):
    (written / "tokenizer.json").write_text('{"lowercase": true}')
    with pytest.raises(ValueError, match="must describe its model; it is no tokenizer of Hugging Face's BERT"):
        read_vocabulary(written)


def test_no_vocabulary(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no vocabulary: neither vocab.txt nor tokenizer.json"):
        read_vocabulary(tmp_path)
