"""Pages of the repository as pages of the site: links between files become links between pages."""

import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

# Pages outside of docs/, and files whose content the site shows on a page that is generated.
_PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/jobs/example.toml": "reference/settings.md",
    "docs/decisions": "decisions/index.md",
}
# Code, which stays as it is, or a link to a file.
_LINK = re.compile(
    r"(?ms:^( *)```.*?^\1```)|`[^`]+`|(!?)\[((?:`[^`]*`|[^\[\]`])*)\]\((?!\w+:|#)([^()\s#]+)(#[^()\s]*)?\)"
)


def collect_pages(repository: Path) -> dict[str, str]:
    """Name in the site -> Markdown, for README.md, CONTRIBUTING.md, CHANGELOG.md, all of docs/, and plug-ins.

    Raises:
        ValueError: a page links to a file that does not exist.
    """
    places = {
        **{path.relative_to(repository).as_posix(): path for path in (repository / "docs").rglob("*.md")},
        **{name: repository / name for name in _PLACES if name.endswith(".md")},
    }
    plugins = {
        path.relative_to(repository).as_posix(): f"plugins/{path.parent.name}.md"
        for path in (repository / "plugins").glob("*/README.md")
    }
    places |= {name: repository / name for name in plugins}
    sites = {name: name.removeprefix("docs/") for name in places} | _PLACES | plugins
    return {
        sites[name]: rewrite_links(path.read_text(encoding="utf-8"), path, repository, sites)
        for name, path in sorted(places.items())
    }


def rewrite_links(text: str, page: Path, repository: Path, sites: Mapping[str, str]) -> str:
    """Makes links to pages relative to the page in the site; of links to other files only their text stays.

    Args:
        text: Markdown.
        page: the file that holds the text.
        repository: the folder of README.md.
        sites: path of a file in the repository -> its page in the site.

    Raises:
        ValueError: the text links to a file that does not exist.
    """
    here = posixpath.dirname(sites[page.relative_to(repository).as_posix()])

    def rewrite(link: re.Match[str]) -> str:
        _, image, label, target, anchor = link.groups(default="")
        if not target:
            return link[0]
        path = Path(os.path.normpath(page.parent / target))
        if not path.exists():
            raise ValueError(f"{page}: a link must name a file that exists, got {target}")
        name = path.relative_to(repository).as_posix()
        if image:
            return f"![{label}]({posixpath.relpath(name.removeprefix('docs/'), here or '.')})"
        if name not in sites:
            return label
        return f"[{label}]({posixpath.relpath(sites[name], here or '.')}{anchor})"

    return _LINK.sub(rewrite, text)


def decisions_page(folder: Path) -> str:
    """A list of all decisions by their titles."""
    lines = [
        "# Decisions",
        "",
        "Why things are as they are: a page for each choice that surprises, in the order of their dates.",
        "",
    ]
    for path in sorted(folder.glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- {path.stem[:4]} [{title}]({path.name})")
    return "\n".join([*lines, ""])
