"""The rules of subwords for apps; `tests/clients` runs the tokenizers that read them."""

import pytest

from keras_bert.clients.graphemes import grapheme_classes
from keras_bert.clients.subword_rules import subword_rules
from keras_bert.tokenizers.eager import EagerSubwords
from tests.keras_bert.tokenizers.subwords import content


def test_each_part_of_a_tokenizer_has_its_lines():
    lines = subword_rules(EagerSubwords(content("modern"))).splitlines()
    model = content("modern")["model"]
    merges = [line for line in lines if line.startswith("merge ")]
    left, right = model["merges"][0]
    ids = [model["vocab"][token] for token in (left, right, left + right)]
    assert merges[0] == f"merge {' '.join(map(str, ids))}"
    assert len(merges) == len(model["merges"])
    assert "step composed" in lines
    assert "pair 65 301 e9" in lines
    assert "order 301 230" in lines
    assert "map e9 65 301" in lines
    assert [line.split()[1:3] for line in lines if line.startswith("added ")].count(["normalized", "0"]) == 2
    assert "split bytes 0" in lines


def test_words_bytes_and_letters():
    described = {kind: subword_rules(EagerSubwords(content(kind))).splitlines() for kind in ("gemma", "llama")}
    gemma, llama = (content(kind)["model"]["vocab"] for kind in described)
    assert f"bytes {' '.join(str(gemma[f'<0x{byte:02X}>']) for byte in range(256))}" in described["gemma"]
    assert f"letter 2581 {gemma['▁']}" in described["gemma"]
    # Spaces are marks already where Gemma's splits at them.
    assert [line for line in described["gemma"] if line.startswith(("split", "step"))] == ["step replace 20 2581"]
    assert f"words {len(llama)} 0" in described["llama"]
    assert [line for line in described["llama"] if line.startswith("split")] == ["split runs"]
    assert "class s 17f 17f" in described["llama"]


def test_an_empty_replacement_has_no_code_points():
    patterns = {"String": "ow"}, {"Regex": " {2,}"}
    steps = [{"type": "Replace", "pattern": pattern, "content": ""} for pattern in patterns]
    normalizer = {"type": "Sequence", "normalizers": steps}
    lines = subword_rules(EagerSubwords({**content("unigram"), "normalizer": normalizer})).splitlines()
    names = [line for line in lines if line.startswith("step")]
    assert names == ["step replace 6f.77", "step collapse run0 alone0"]


def test_scores_are_exact():
    scores = [
        float(line.split()[1])
        for line in subword_rules(EagerSubwords(content("unigram"))).splitlines()
        if line.startswith("score")
    ]
    assert scores == [score for _, score in content("unigram")["model"]["vocab"]]


def test_graphemes_have_the_classes_of_the_standard():
    classes = grapheme_classes()
    examples = {"extend": 0x200D, "spacing": 0x903, "prepend": 0x600, "control": 0xAD, "picture": 0x2122}
    examples |= {"consonant": 0x915, "linker": 0x94D, "between": 0x93C, "lead": 0x1100, "vowel": 0x1161, "tail": 0x11A8}
    assert {name for name, code in examples.items() if code not in classes[name]} == set()
    assert all(ord("a") not in codes for codes in classes.values())


def test_an_unknown_part_is_refused():
    tokenizer = EagerSubwords({**content("unigram"), "normalizer": {"type": "Nmt"}})
    with pytest.raises(ValueError, match="tokenizers for apps have no normalizer 'Nmt'; they have NFC, "):
        subword_rules(tokenizer)
