"""`gc` on the command line: what it does beside a run."""

from pipeline.orchestrator.root import locked_root
from tests.pipeline.command_line import refused, said
from tests.pipeline.provenance.made_up import Jobs


def test_a_dry_run_does_not_wait_for_a_run(tmp_path, capfd):
    jobs = Jobs(tmp_path)
    jobs.run("old", push=False)
    jobs.run("new", push=False)
    with locked_root(tmp_path):
        assert "out-old" in said(capfd, "gc", "--dry-run", "--root", tmp_path)
        refused(capfd, "gc", "--root", tmp_path)
    assert (tmp_path / "artifacts" / "rows" / "out-old").is_dir()
