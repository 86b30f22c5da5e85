import contextlib
import os
import shutil

import pytest

from pipeline.orchestrator.root import Root
from pipeline.orchestrator.store import Store
from pipeline.provenance.garbage import find_garbage, remove_garbage
from tests.pipeline.provenance.made_up import Jobs


def paths(root):
    return {folder.relative_to(root / "artifacts").as_posix() for folder in (root / "artifacts").glob("*/*")}


def test_what_newest_runs_and_pushed_versions_need_stays(tmp_path):
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


def test_a_version_that_was_deleted_needs_nothing(tmp_path):
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


def test_logs_of_a_run_whose_model_is_kept_stay(tmp_path):
    jobs = Jobs(tmp_path)
    jobs.run("a", push=False)
    (made,) = [published.artifact for published in jobs.store.artifacts() if published.node == "model"]
    run = jobs.store.start_run("job", {})
    (model,) = [past for past in jobs.store.past_executions(1) if past.execution.node == "model"]
    execution = model.execution._replace(run=run, state="cached")
    jobs.store.record(execution, {}, {"out": made})
    jobs.store.finish_run(run, "done")
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    assert garbage.artifacts.keys() == {"artifacts/rows/out-a", "artifacts/evaluate/out-a"}
    assert garbage.logs == {}


def test_in_a_root_that_was_moved_pushed_versions_keep_what_they_came_from(tmp_path):
    jobs = Jobs(tmp_path / "root")
    jobs.run("pushed")
    jobs.run("new", push=False)
    jobs.store.close()
    moved = (tmp_path / "root").rename(tmp_path / "moved")
    with contextlib.closing(Store(moved)) as store:
        assert find_garbage(store, moved, keep=1).size == 0


def test_the_newest_finished_run_is_counted_not_the_newest(tmp_path):
    jobs = Jobs(tmp_path)
    jobs.run("old", push=False)
    jobs.run("refused", push=False, state="refused")
    for state in ("partial", "failed", "interrupted"):
        jobs.run(state, push=False, state=state)
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    assert garbage.artifacts.keys() == {f"artifacts/{node}/out-old" for node in ("rows", "model", "evaluate")}
    jobs.run("new", push=False)
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    assert {path.rpartition("-")[2] for path in garbage.artifacts} == {
        "old",
        "refused",
        "partial",
        "failed",
        "interrupted",
    }
    garbage = find_garbage(jobs.store, tmp_path, keep=2)
    assert {path.rpartition("-")[2] for path in garbage.artifacts} == {"old", "partial", "failed", "interrupted"}


def test_the_runs_of_a_search_count_as_one(tmp_path):
    jobs = Jobs(tmp_path)

    def search(name, *states):
        first = None
        for number, state in enumerate(states):
            run = jobs.run(f"{name}{number}", pipeline="job/search", push=False, state=state, part_of=first)
            first = first or run

    search("a", "partial", "partial", "done")
    search("b", "partial", "partial", "done")
    search("c", "partial", "partial")

    def gone(keep):
        garbage = find_garbage(jobs.store, tmp_path, keep)
        return {path.rpartition("-")[2] for path in garbage.artifacts}

    assert gone(keep=1) == {"a0", "a1", "a2"}
    assert gone(keep=2) == set()
    search("d", "partial", "done")
    assert gone(keep=1) == {"a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1"}


def test_the_push_of_a_search_is_no_run_of_its_job(tmp_path):
    jobs = Jobs(tmp_path)
    jobs.run("job", push=False)
    first = jobs.run("trained", pipeline="job/search", push=False, state="partial")
    jobs.run("winner", pipeline="job/search", push=False, part_of=first)
    jobs.run("pushed", push=False, part_of=first)
    assert find_garbage(jobs.store, tmp_path, keep=1).artifacts == {}
    jobs.run("new", push=False)
    garbage = find_garbage(jobs.store, tmp_path, keep=1)
    assert {path.rpartition("-")[2] for path in garbage.artifacts} == {"job"}


@pytest.mark.parametrize("link", ["artifacts", "artifacts/rows", "artifacts/rows/out-old", "logs", "logs/1"])
def test_what_lies_behind_a_link_stays(tmp_path, link):
    jobs = Jobs(tmp_path / "root")
    jobs.run("old", push=False)
    jobs.run("new", push=False)
    (jobs.root / link).rename(tmp_path / "mine")
    (jobs.root / link).symlink_to(tmp_path / "mine")
    (tmp_path / "mine" / "letters" / "of-a-friend").mkdir(parents=True)
    (tmp_path / "mine" / "letters" / "of-a-friend" / "text").write_text("hello")
    before = [*(tmp_path / "mine").rglob("*")]
    garbage = find_garbage(jobs.store, jobs.root, keep=1)
    assert not [path for path in (*garbage.artifacts, *garbage.logs) if f"{path}/".startswith(f"{link}/")]
    remove_garbage(jobs.store, jobs.root, garbage)
    Root(jobs.root, []).sweep(jobs.store)
    assert [*(tmp_path / "mine").rglob("*")] == before


@pytest.mark.parametrize("folder", [".staging", ".unfinished", ".locks"])
def test_a_sweep_follows_no_link(tmp_path, folder):
    jobs = Jobs(tmp_path / "root")
    letter = tmp_path / "mine" / "letters" / "text"
    letter.parent.mkdir(parents=True)
    letter.write_text("hello")
    (tmp_path / "mine" / "note").write_text("hello")
    for place in (letter, letter.parent):
        os.utime(place, (0, 0))
    (jobs.root / folder).symlink_to(tmp_path / "mine")
    Root(jobs.root, []).sweep(jobs.store)
    assert (letter.read_text(), (tmp_path / "mine" / "note").read_text()) == ("hello", "hello")


def test_a_number_of_a_run_that_is_a_path_removes_nothing(tmp_path):
    jobs = Jobs(tmp_path / "root")
    jobs.run("new", push=False)
    (tmp_path / "mine").mkdir()
    connection = jobs.store.connection
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("ALTER TABLE runs RENAME TO rows")
    connection.execute("CREATE TABLE runs AS SELECT * FROM rows")
    connection.execute("INSERT INTO runs SELECT '../../mine', pipeline, state, 0, 0, NULL, NULL, NULL, NULL FROM rows")
    assert [run.id for run in jobs.store.runs()] == [0, 1]
    assert not [path for path in find_garbage(jobs.store, jobs.root, keep=1).logs if "mine" in path]
