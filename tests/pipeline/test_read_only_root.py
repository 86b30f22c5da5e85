"""A root that cannot be written to can be looked at."""

import pytest

from components.dsl.errors import InputError
from pipeline.cli import main
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.store import Store
from tests import unprivileged
from tests.pipeline.orchestrator.test_runner import chain
from tests.pipeline.provenance.made_up import Jobs


@pytest.fixture(params=["closed", "in use"])
def root(request, tmp_path):
    """A read-only root with three runs, whose database is closed, or has its last rows in the log."""
    jobs = Jobs(tmp_path / "root")
    jobs.run("a")
    jobs.run("b")
    jobs.store.finish_run(jobs.store.start_run("empty"), "done")
    if request.param == "closed":
        jobs.store.close()
    folders = [jobs.root, *(place for place in jobs.root.rglob("*") if place.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield jobs.root
    for folder in folders:
        folder.chmod(0o755)
    jobs.store.close()


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("show", "artifacts/push/out-b"),
        ("show model", "model, run 2"),
        ("show 2", "run 2 of job: done"),
        ("diff 1 2", "settings: the same"),
        ("show {root}/pushed/b-2/model.tflite", "made by push in run 2"),
        ("report 3 --out {root}/../page.html", "report: "),
        ("gc --dry-run", "would be removed: 0 artifacts"),
    ],
)
def test_what_only_reads(root, capfd, command, printed):
    before = sorted(root.rglob("*"))
    arguments = [*command.format(root=root).split(), "--root", str(root)]
    assert unprivileged.run(lambda: main(arguments)) == 0, capfd.readouterr().err
    assert printed in capfd.readouterr().out
    assert sorted(root.rglob("*")) == before


def test_a_dry_run(root):
    def previewed():
        return len(preview(Pipeline("job", [chain("hello")]), root, Request()))

    assert unprivileged.run(previewed) == 3


def test_what_writes_is_refused(root):
    def start():
        with pytest.raises(InputError, match=r"root must hold a database that can be used, .* readonly database"):
            Store(root).start_run("job")
        return 0

    assert unprivileged.run(start) == 0
