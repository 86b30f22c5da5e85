"""The package's page on an index: README.md, where links to files, which an index does not hold, are text."""

import re
from pathlib import Path

from setuptools import setup

# A link or an image whose target is neither a URL nor a heading of the page.
_LINK_TO_FILE = re.compile(r"!?\[([^\[\]]*)\]\((?!\w+:|#)[^()\s]*\)")


def page(text: str) -> str:
    """Leaves the text of each link to a file; an image in a link is a link whose text is the image's."""
    while (shorter := _LINK_TO_FILE.sub(r"\1", text)) != text:
        text = shorter
    return text


setup(
    long_description=page(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
