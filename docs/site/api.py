"""The pages of the API reference, filled from docstrings by mkdocstrings: one for each package and each plug-in."""

import ast
from pathlib import Path

_INDEX = """\
# API reference

The library, a page for each package, from its docstrings. `import keras_bert` gives these names:

{names}

`components` holds the steps of the pipeline: typed functions that can be called on plain folders. `plugins` holds
what not every job needs.
"""


def api_pages(repository: Path) -> dict[str, str]:
    """Name in the site -> Markdown, in which `::: module` stands for the module's documentation."""
    library = repository / "keras_bert"
    pages = {"keras_bert": sorted(path.stem for path in library.glob("*.py") if path.stem != "__init__")}
    for package in sorted(path.parent for path in library.glob("*/__init__.py")):
        pages[f"keras_bert.{package.name}"] = _modules(package)
    for package in sorted(path.parent for path in (repository / "plugins").glob("*/__init__.py")):
        pages[f"plugins.{package.name}"] = _modules(package)
    pages["components"] = sorted(
        path.stem for path in (repository / "components").glob("*.py") if path.stem != "__init__"
    )
    pages["pipeline"] = ["notebook"]
    written = {f"reference/api/{name}.md": _page(name, modules) for name, modules in pages.items()}
    return {"reference/api/index.md": _INDEX.format(names=_front_door(library / "__init__.py")), **written}


def _modules(package: Path) -> list[str]:
    """Dotted names of all modules below a package, relative to it."""
    paths = (path.relative_to(package).with_suffix("") for path in sorted(package.rglob("*.py")))
    return [".".join(path.parts) for path in paths if path.name != "__init__"]


def _page(package: str, modules: list[str]) -> str:
    return "\n".join([f"# {package}", "", *(f"::: {package}.{module}\n" for module in modules)])


def _front_door(file: Path) -> str:
    """The names that `import keras_bert` gives, each with a link to its module's page."""
    (table,) = (
        node.value
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
    )
    homes: dict[str, str] = ast.literal_eval(table)
    names = sorted(homes.items(), key=lambda item: item[0].lower())
    return "\n".join(f"- `{name}` of [{home}][{home}]" for name, home in names)
