"""Pages, parsed: each element ends where it should, and nothing makes a browser ask for anything else."""

import re
from html.parser import HTMLParser

# Elements without an end.
VOID = {"meta", "link", "br", "wbr"}


class Parsed(HTMLParser):
    """A page: its elements with their attributes, its text, and whether each element ends where it should."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.text, self._open = "", []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


def check_complete(text):
    """Parses a page and looks for whatever would make a browser ask for something else."""
    page = Parsed(text)
    names = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    for tag, attributes in page.elements:
        assert tag not in {"script", "iframe", "img", "object", "embed", "base", "form"}
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "srcset", "xmlns")}
        link = attributes.get("href")
        assert link is None or link == "data:," or link.removeprefix("#") in names
        for reference in re.findall(r"url\(([^)]*)\)", " ".join(filter(None, attributes.values()))):
            assert reference.removeprefix("#") in names
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    return page
