"""Checks that a site loads no files from another server: `python -m docs.site.check build/docs/site`."""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path

# Element -> the attribute with the file that it loads. Links that a reader may follow (`a`) are allowed.
_LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
# Relations of `link` elements that load nothing.
_NAMING = {"canonical", "prev", "next"}


class _Loads(HTMLParser):
    """Collects addresses on other servers that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        address = attributes.get(_LOADING.get(tag, "")) or ""
        if address.startswith(("http:", "https:", "//")) and attributes.get("rel") not in _NAMING:
            self.addresses.append(address)
        if "mermaid" in (attributes.get("class") or "").split():
            self.addresses.append("the script of mermaid, which the theme loads from a server")


def foreign_addresses(html: str) -> list[str]:
    """The addresses on other servers that a page loads when it is opened."""
    page = _Loads()
    page.feed(html)
    return page.addresses


def main() -> None:
    """Exits with status 1 if a page or style sheet loads anything from another server."""
    parser = argparse.ArgumentParser(description="refuse a site that loads files from other servers")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    problems = [
        f"{path}: loads {address}"
        for path in sorted(folder.rglob("*.html"))
        for address in foreign_addresses(path.read_text(encoding="utf-8"))
    ]
    problems += [
        f"{path}: loads a file of another server"
        for path in sorted(folder.rglob("*.css"))
        if any(start in path.read_text(encoding="utf-8") for start in ("url(http", 'url("http', "url(//", "@import"))
    ]
    if problems or not any(folder.rglob("*.html")):
        sys.exit("\n".join(problems) or f"{folder}: there is no page")


if __name__ == "__main__":
    main()
