"""Writes the pages of the site and its configuration into a folder, from which Zensical builds it.

python -m docs.site build/docs
"""

import argparse
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from docs.site.api import api_pages
from docs.site.commands import commands_page
from docs.site.pages import collect_pages, decisions_page
from docs.site.settings import settings_page

REPOSITORY = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("mkdocs.yml")
# A navigation entry that names a folder.
_FOLDER = re.compile(r"^( *- .+:) (\S+/)$", re.MULTILINE)


def make_pages(repository: Path = REPOSITORY) -> dict[str, str]:
    """Returns the Markdown of each page by its name in the site.

    Raises:
        ValueError: a page links to a file that does not exist.
    """
    return {
        **collect_pages(repository),
        "decisions/index.md": decisions_page(repository / "docs" / "decisions"),
        "reference/settings.md": settings_page(),
        "reference/commands.md": commands_page(),
        **api_pages(repository),
    }


def list_folders(configuration: str, pages: Iterable[str]) -> str:
    """Replaces each folder in the navigation by its pages, the index first."""
    names = sorted(pages, key=lambda name: (not name.endswith("/index.md"), name))

    def expand(entry: re.Match[str]) -> str:
        indent = " " * (entry[1].index("-") + 4)
        return "\n".join([entry[1], *(f"{indent}- {name}" for name in names if name.startswith(entry[2]))])

    return _FOLDER.sub(expand, configuration)


def main() -> None:
    """Writes `mkdocs.yml` and `pages/` into a folder, replacing its content."""
    parser = argparse.ArgumentParser(description="write the pages of the site and its configuration")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    pages = make_pages()
    for name, text in pages.items():
        path = folder / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for picture in (REPOSITORY / "docs").glob("*.svg"):
        shutil.copy(picture, folder / "pages")
    shutil.copytree(REPOSITORY / "docs" / "site" / "theme", folder / "pages" / "theme")
    (folder / "mkdocs.yml").write_text(list_folders(CONFIGURATION.read_text(encoding="utf-8"), pages), encoding="utf-8")


if __name__ == "__main__":
    main()
