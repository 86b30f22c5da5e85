"""The page: what it holds comes back, whatever users wrote, and it stays small."""

import base64
import json
import os
import re
import zlib

import numpy as np
import pytest

from plugins.explain.attention import Attention, attentions, rollout
from plugins.explain.attribution import attributions
from plugins.explain.heads import head_statistics
from plugins.explain.html_page import show
from plugins.explain.tokens import Tokens

HOSTILE = '</script><b>a\u2028\u202e\x00b & "c" $data ${x} \U0001f600'


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)[1])


def unpack(weights):
    """The weights (layers, heads, size, size) of a page."""
    layers = []
    for layer in weights["layers"]:
        whole = np.frombuffer(zlib.decompress(base64.b64decode(layer)), "uint8")
        if weights["bits"] == 4:
            whole = np.stack([whole & 15, whole >> 4], axis=1).ravel()[: weights["heads"] * weights["size"] ** 2]
        shape = weights["heads"], weights["size"], weights["size"]
        layers.append((whole.reshape(shape) / (2 ** weights["bits"] - 1)) ** 2)
    return np.stack(layers)


def random_attention(layers, heads, size, seed=0):
    logits = np.random.default_rng(seed).normal(scale=2.5, size=(layers, heads, size, size)).astype("float32")
    exponents = np.exp(logits)
    words = np.arange(size, dtype="int32")
    row = Tokens(
        ("a " * size,),
        tuple(f"token{number}" for number in range(size)),
        np.zeros(size, "int32"),
        np.stack([2 * words, 2 * words + 1], axis=1),
        words,
        (0,),
    )
    return Attention(row, exponents / exponents.sum(axis=-1, keepdims=True))


def test_what_is_shown_comes_back(task):
    text = "abc d ef"
    attribution, (attention,) = attributions(task, text), attentions(task, [text])
    page = show(attention, attribution, title="Mine & yours", labels=["int8", "float"])
    (section,) = data_of(page)
    (shown,), (weights,) = section["attributions"], section["attentions"]
    assert (section["text"], shown["label"], shown["target"]) == (text, "float", attribution.target)
    assert shown["words"] == [["abc", 0], ["d", 0], ["ef", 0]]
    np.testing.assert_allclose(shown["shares"], attribution.by_word(), rtol=1e-3)
    assert (weights["label"], weights["tokens"]) == ("int8", list(attention.tokens))
    np.testing.assert_allclose(unpack(weights["weights"]), attention.weights, atol=0.004)
    last = rollout(attention.weights)[-1, 0]
    expected = [last[attention.row.words == word].sum() for word in range(3)]
    np.testing.assert_allclose(weights["rollout"]["shares"], expected, rtol=1e-3)
    assert "<title>Mine &amp; yours</title>" in page.html


def test_rollout_ends_at_the_first_token_behind_a_prompt():
    attention = random_attention(2, 1, 4)
    row = attention.row
    prompted = Tokens(
        row.texts,
        row.tokens[:1] + row.tokens[2:],
        *(part[:3] for part in (row.segments, row.offsets)),
        np.array([-1, 0, 1], "int32"),
        (0,),
    ).behind_prompt(1)
    shown = data_of(show(Attention(prompted, attention.weights)))[0]["attentions"][0]["rollout"]["shares"]
    np.testing.assert_allclose(shown, rollout(attention.weights)[-1, 1, 2:], rtol=1e-3)


def test_items_of_a_text_stand_together(task):
    texts = ["abc d", "g"]
    items = [*attentions(task, texts), *(attributions(task, text, method="occlusion") for text in reversed(texts))]
    sections = data_of(show(*items))
    assert [section["text"] for section in sections] == texts
    assert [len(section[name]) for section in sections for name in ("attributions", "attentions")] == [1, 1, 1, 1]
    pair = data_of(show(attributions(task, "abc", pair="g a", method="occlusion")))[0]
    assert (pair["text"], pair["attributions"][0]["words"]) == ("abc / g a", [["abc", 0], ["g", 1], ["a", 1]])


def test_heads_are_points_in_the_plane(task):
    statistics = head_statistics(task, ["abc d", "g"])
    (section,) = data_of(show(statistics, labels=["float"]))
    (heads,) = section["heads"]
    assert (heads["label"], heads["kinds"]) == ("float", statistics.kind.tolist())
    np.testing.assert_allclose(heads["positions"], statistics.positions, rtol=1e-3, atol=1e-12)


def test_what_users_wrote_is_text(task):
    page = show(attributions(task, HOSTILE, method="occlusion"), title=HOSTILE)
    assert data_of(page)[0]["text"] == HOSTILE
    assert page.html.count("</script>") == 2, "of the data and of the page's own script"
    assert "<b>a" not in page.html
    assert not re.search(r"https?://(?!www\.w3\.org)", page.html)
    frame = page._repr_html_()
    assert frame.startswith("<iframe ")
    assert frame.count("<") == 2, "the page is inside an attribute"


@pytest.mark.long
def test_large_pages_have_fewer_bits():
    large, small = random_attention(12, 12, 512), random_attention(1, 3, 5)
    page = show(large, small)
    sections = data_of(page)
    assert [section["attentions"][0]["weights"]["bits"] for section in sections] == [4, 4]
    assert len(page.html) < 15_000_000
    np.testing.assert_allclose(unpack(sections[1]["attentions"][0]["weights"]), small.weights, atol=0.07)


def test_saving_replaces_the_file_as_a_whole(task, tmp_path):
    page = show(attributions(task, "abc", method="occlusion"))
    (tmp_path / "page.html").write_text("old")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError, match=r"Page\.save\.path must be in a folder that exists, got"):
        page.save(tmp_path / "none" / "page.html")


def test_a_page_that_cannot_be_saved_leaves_no_part(task, tmp_path, monkeypatch):
    page = show(attributions(task, "abc", method="occlusion"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match=r"Page\.save\.path must be a file, got the folder"):
        page.save(tmp_path / "folder")

    def fail(part, target):
        raise OSError(f"{target} must be in a folder that can be written")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="must be in a folder that can be written"):
        page.save(tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_refused(task):
    assert data_of(show(*attentions(task, [""])))[0]["attentions"][0]["rollout"]["words"] == [], "a text without words"
    with pytest.raises(ValueError, match=r"show\.items must hold at least one item, got 'none'"):
        show()
    with pytest.raises(TypeError, match=r"show\.items must be results of .*`attentions` or `head_statistics`, got 3"):
        show(3)
    with pytest.raises(ValueError, match=r"show\.labels must be as many as the 1 items, got 2"):
        show(attributions(task, "abc", method="occlusion"), labels=["a", "b"])
    with pytest.raises(ValueError, match=r"show\.items must have distances to be drawn; leave distances=False out"):
        show(head_statistics(task, ["abc"], distances=False))
