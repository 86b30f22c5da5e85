"""The page of attributions and attention, as a browser shows it and as a person uses it."""

import os
from xml.etree import ElementTree

import pytest

from keras_bert.tokenizers.tokenizer import Tokenizer
from plugins.explain.attention import attentions
from plugins.explain.attribution import attributions
from plugins.explain.heads import head_statistics
from plugins.explain.html_page import show
from tests.clients.web.node import ask
from tests.keras_bert.family_tasks import family_task
from tests.keras_bert.interop.checkpoints import CONFIG, PIECES
from tests.plugins.explain.test_html_page import HOSTILE, random_attention

pytestmark = pytest.mark.web

SCREENS = [{"width": width, "dark": dark} for width in (1200, 400) for dark in (False, True)]


@pytest.fixture(scope="module")
def screens(tmp_path_factory):
    """What a person sees and does on each screen."""
    folder, task = tmp_path_factory.mktemp("page"), family_task("bert", Tokenizer(PIECES, True))
    text = "abc d ef ga"
    items = [attributions(task, text), *attentions(task, [text]), attributions(task, HOSTILE, method="occlusion")]
    page = show(*items, head_statistics(task, [text]), labels=["float", "float", "hostile", ""])
    page.save(folder / "page.html")
    pictures = [os.environ["PICTURES"]] if "PICTURES" in os.environ else []
    return ask("open_explanation.mjs", folder / "page.html", *pictures, given=SCREENS)


def test_what_is_seen_and_done_on_each_screen(screens):
    for screen in screens:
        assert (screen["asked"], screen["errors"]) == ([], [])
        assert screen["words"][:4] == ["abc", "d", "ef", "ga"]
        assert "<" in screen["words"]
        assert screen["lines"] > screen["hovered"] == 1, "one token has its lines alone"
        assert screen["focused"] == ["attention of [CLS]", "attention of a"], "arrows go from token to token"
        assert (screen["alone"], screen["layer"]) == (["1"], "1")
        assert screen["opened"] == [str(CONFIG.num_layers - 1), str(CONFIG.num_heads - 1)]
        assert screen["drawn"]
        assert screen["tips"][0].startswith("abc  "), "hovered"
        assert screen["tips"][1].startswith("d  "), "reached by the keyboard"
        assert screen["tips"][2].startswith("layer 0, head 0: "), "a head in the plane"
    assert [screen["width"] for screen in screens] == [screen["width"] for screen in SCREENS]
    light, dark = screens[0], screens[1]
    assert light["background"] != dark["background"]
    assert (light["switched"], dark["switched"]) == (dark["background"], light["background"])


def test_a_notebook_shows_the_page_in_a_frame(tmp_path):
    task = family_task("bert", Tokenizer(PIECES, True))
    page = show(*attentions(task, ["abc d"]))
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{page._repr_html_()}</body>", encoding="utf-8")
    (frame,) = ask("open_frame.mjs", tmp_path / "notebook.html", given=[{}])
    assert frame == {"title": "Why this answer?", "lines": True, "errors": []}


def test_pictures_are_svg(screens):
    for address in screens[0]["saved"]:
        kind, _, content = address.partition(",")
        assert kind == "data:image/svg+xml;charset=utf-8"
        assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
        assert "light-dark" not in content
    assert len(screens[0]["saved"]) == 6, "two attributions, heads, model, rollout, heads in the plane"
    assert sum("data:image/png;base64," in address for address in screens[0]["saved"]) == 1, "pictures of all heads"


def test_512_tokens_in_144_heads_open_in_two_seconds(tmp_path):
    show(random_attention(12, 12, 512)).save(tmp_path / "page.html")
    (screen,) = ask("open_explanation.mjs", tmp_path / "page.html", given=SCREENS[:1])
    assert screen["errors"] == []
    assert screen["milliseconds"] < 2000
    assert screen["inflated"] <= 12, "each layer once"
    assert screen["drawn"]
