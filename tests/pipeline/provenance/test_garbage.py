import shutil
from pathlib import Path

from pipeline.provenance.garbage import find_garbage, remove_garbage
from tests.pipeline.provenance.made_up import Jobs


def paths(root: Path) -> set[str]:
    return {folder.relative_to(root / "artifacts").as_posix() for folder in (root / "artifacts").glob("*/*")}


def test_what_newest_runs_and_pushed_versions_need_stays(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    jobs.run("pushed")
    jobs.run("old", push=False)
    jobs.run("other", pipeline="another", push=False)
    jobs.run("new", push=False)
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    gone = {f"artifacts/{node}/out-old" for node in ("rows", "model", "evaluate")}
    assert garbage.artifacts.keys() == gone
    assert garbage.logs == {"logs/2": len("a line\n")}
    on_disk = sum(file.stat().st_size for path in (*gone, "logs/2") for file in (tmp_path / path).rglob("*"))
    assert garbage.size == on_disk
    assert find_garbage(jobs.store, tmp_path, keep=2).size == 0
    before = paths(tmp_path)
    remove_garbage(jobs.store, tmp_path, garbage)
    assert before - paths(tmp_path) == {path.removeprefix("artifacts/") for path in gone}
    assert not (tmp_path / "logs" / "2").exists()
    assert find_garbage(jobs.store, tmp_path, keep=1).size == 0
    assert jobs.store.find("model-old") is not None, "the lineage stays"
    assert jobs.store.paths() == {f"artifacts/{path}" for path in paths(tmp_path)}


def test_a_version_that_was_deleted_needs_nothing(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    jobs.run("pushed")
    jobs.run("new", push=False)
    assert find_garbage(jobs.store, tmp_path, keep=1).size == 0
    shutil.rmtree(tmp_path / "pushed")
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    assert garbage.artifacts.keys() == {
        f"artifacts/{node}/out-pushed" for node in ("rows", "model", "evaluate", "push")
    }
    assert garbage.logs.keys() == {"logs/1"}


def test_logs_of_a_run_whose_model_is_kept_stay(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    jobs.run("a", push=False)
    (made,) = [each.artifact for each in jobs.store.artifacts() if each.node == "model"]
    run = jobs.store.start_run("job", {})
    (model,) = [past for past in jobs.store.past_executions(1) if past.execution.node == "model"]
    found = model.execution._replace(run=run, state="cached")
    jobs.store.record(found, {}, {"out": made})
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    assert garbage.artifacts.keys() == {"artifacts/rows/out-a", "artifacts/evaluate/out-a"}
    assert garbage.logs == {}
