"""The pages of the site: generated from the code, with links to pages that exist, and nothing from other servers."""

import json
import posixpath
import re

import pytest

from docs.site.__main__ import CONFIGURATION, list_folders, make_pages
from docs.site.check import foreign_addresses
from docs.site.pages import rewrite_links
from docs.site.settings import settings_page
from pipeline.cli import command_groups
from pipeline.job.json_schema import job_schema
from tests.docs.blocks import REPOSITORY


@pytest.fixture(scope="module")
def pages():
    return make_pages()


def rows(page):
    """`heading/setting` -> the cells of its row, of a page of settings."""
    cells, heading = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| `"):
            name, *others = (cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            cells[f"{heading}/{name.strip('`')}"] = others
    return cells


def settings_in(schema):
    """The names of all settings that are values, anywhere in a schema."""
    if isinstance(schema, dict):
        for name, field in schema.get("properties", {}).items():
            if "$ref" not in json.dumps(field) and "properties" not in json.dumps(field):
                yield name
        for value in schema.values():
            yield from settings_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from settings_in(value)


def test_every_setting_has_a_row(pages):
    names = {key.rpartition("/")[2] for key in rows(pages["reference/settings.md"])}
    assert names == set(settings_in(job_schema()))


def test_a_setting_has_type_default_range_and_effect():
    table = rows(settings_page())
    assert table["Outside of tables/max_length"][:3] == ["integer", "`128`", "at least 8; at most 8192"]
    assert table["[distillation]/temperature"][:3] == ["number", "`2.0`", "positive"]
    assert table["[cleaning]/threshold"][:3] == ["number", "`0.8`", "positive; at most 1"]
    assert table["[corpus] with path/path"][1] == "required"
    assert table["[encoder]/embedding_rank"][1:3] == ["not set", "positive"], "its other rule depends on hidden_size"
    assert table["[pretraining]/accumulation"][2] == "positive; divides `batch_size`"
    assert table['[adaptation] with kind = "lora"/rank'][0:2] == ["integer", "`8`"]
    assert all(cells[3] for key, cells in table.items() if not key.endswith("/kind")), "an effect is missing"


def test_every_command_has_a_section(pages):
    page = pages["reference/commands.md"]
    assert re.findall(r"^### (.+)$", page, re.MULTILINE) == [
        name for names in command_groups().values() for name in names
    ]
    assert "| `--max-megabytes N` | Maximum size of model.tflite, in 10^6 bytes. |" in page
    assert "| `JOB` |" in page
    assert "[default: 60.0]" in page


def test_every_module_of_the_library_is_in_the_reference(pages):
    text = "\n".join(page for name, page in pages.items() if name.startswith("reference/api/"))
    for path in (REPOSITORY / "keras_bert").rglob("*.py"):
        if path.name != "__init__.py":
            module = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
            assert f"::: {module}\n" in text


def test_every_page_is_in_the_navigation(pages):
    entries = re.findall(r"^ *- (?:.+: )?(\S+\.md)$", list_folders(CONFIGURATION.read_text(), pages), re.MULTILINE)
    assert sorted(entries) == sorted(pages)


def test_links_become_links_between_pages():
    sites = {"README.md": "index.md", "docs/speed.md": "speed.md", "pyproject.toml": "reference/settings.md"}
    readme = REPOSITORY / "README.md"
    text = "[a](docs/speed.md#x) ![b](docs/flow.svg) [c](LICENSE) [`[d]`](pyproject.toml) `[e](f)`\n```\n[g](h)\n```\n"
    assert rewrite_links(text, readme, REPOSITORY, sites) == (
        "[a](speed.md#x) ![b](flow.svg) c [`[d]`](reference/settings.md) `[e](f)`\n```\n[g](h)\n```\n"
    )
    up = rewrite_links("[a](../README.md) [b](speed.md)", REPOSITORY / "docs" / "speed.md", REPOSITORY, sites)
    assert up == "[a](index.md) [b](speed.md)"
    with pytest.raises(ValueError, match=r"README\.md: a link must name a file that exists, got docs/none\.md"):
        rewrite_links("[a](docs/none.md)", readme, REPOSITORY, sites)


def test_links_lead_to_headings_that_exist(pages):
    """As `make docs` finds out, too, in an environment that the suite does not need."""
    anchors = {
        name: {
            re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)$", text, re.M)
        }
        for name, text in pages.items()
    }
    for name, text in pages.items():
        for page, anchor in re.findall(r"\]\((?!\w+:)([^()\s#]*)#([^()\s]+)\)", text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), page)) if page else name
            assert anchor in anchors[target], f"{name}: {target} has no heading {anchor}"


@pytest.mark.parametrize(
    ("html", "addresses"),
    [
        ('<script src="https://cdn.example/a.js"></script>', ["https://cdn.example/a.js"]),
        ('<link rel="stylesheet" href="//fonts.example/css">', ["//fonts.example/css"]),
        ('<img src="http://example.org/a.png">', ["http://example.org/a.png"]),
        ('<pre class="mermaid">', ["the script of mermaid, which the theme loads from a server"]),
        ('<link rel="canonical" href="https://example.org"><a href="https://example.org">b</a>', []),
        ('<script src="../assets/a.js"></script>', []),
    ],
)
def test_what_a_page_loads_from_other_servers_is_found(html, addresses):
    assert foreign_addresses(html) == addresses


def test_the_readme_is_short_and_names_every_command():
    readme = (REPOSITORY / "README.md").read_text()
    assert len(readme.splitlines()) <= 100
    names = set(re.findall(r"keras-bert-edge ([a-z]+)", readme))
    commands = {name for names in command_groups().values() for name in names}
    assert names == commands
    assert re.findall(r"^make (\w+)", readme, re.MULTILINE) == ["run", "test"]
    changes = (REPOSITORY / "CHANGELOG.md").read_text()
    assert set(re.findall(r"`([a-z]+)`", changes.partition("**Commands.**")[2].partition("\n- ")[0])) <= commands


def test_the_flow_names_steps_that_exist():
    picture = (REPOSITORY / "docs" / "flow.svg").read_text()
    titles = re.findall(r'class="t">([a-z_]+)<', picture)
    steps = [title for title in titles if title not in ("checkpoint", "corpus")]
    assert steps == [name for name in steps if (REPOSITORY / "components" / f"{name}.py").is_file()]
    assert "fine_tune" in steps, json.dumps(titles)
