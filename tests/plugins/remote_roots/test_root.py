"""Runs of a toy pipeline in a root in memory, seen from several machines, each with a mirror of its own."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from components.dsl.artifact import MANIFEST
from components.dsl.errors import InputError
from components.objects.store import ObjectStore
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.opening import open_store
from pipeline.orchestrator.preview import preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.runner import run_pipeline
from pipeline.report.page import report_written_after
from plugins.remote_roots.leases import SECONDS_VARIABLE, Leases
from plugins.remote_roots.mirror import open_mirror
from plugins.remote_roots.roots import ObjectStorageRoots
from plugins.remote_roots.store import RemoteStore, place_of
from tests.components.objects.memory import ADDRESS, put_raw
from tests.pipeline.orchestrator import toy

PRELOAD = ("pipeline.orchestrator.executor", "tests.pipeline.orchestrator.toy")


def run(root, value="hello", **options):
    written = toy.write(value=value)
    loud = toy.shout(text=written.output(toy.Text))
    pipeline = Pipeline("toy", [loud])
    return run_pipeline(pipeline, root, preload=PRELOAD, **options)


def states(result):
    return [step.state for step in result.steps]


def store_of(root):
    store = open_store(root)
    assert isinstance(store, RemoteStore)
    return contextlib.closing(store)


def test_a_second_machine_finds_everything_done_without_downloads(machine):
    first = run(machine("one"))
    assert states(first) == ["ran", "ran"]
    root = machine("other")
    second = run(root)
    assert states(second) == ["cached", "cached"]
    assert (first.run, second.run) == (1, 2)
    assert not (root / "artifacts").exists()
    assert [text.read() for text in second.artifacts(toy.Text)] == ["hello", "HELLO!"], "reading downloads"


def test_one_file_of_an_artifact_is_read_without_the_others(machine, memory):
    run(machine("one"))
    root = machine("other")
    second = run(root)
    contents = second.json_files(toy.Text, MANIFEST)
    assert [content["type"] for content in contents] == ["Text", "Text"]
    assert not (root / "artifacts").exists()
    second.artifacts(toy.Text)
    memory.remove(memory.find_all("artifacts"))
    assert second.json_files(toy.Text, MANIFEST) == contents, "in the mirror"
    (root / "artifacts").rename(root / "gone")
    with pytest.raises(InputError, match="must be intact, and is damaged or missing"):
        second.json_files(toy.Text, MANIFEST)


def test_only_the_inputs_of_a_step_that_runs_are_downloaded(machine):
    run(machine("one"))
    root = machine("other")
    assert states(run(root, request=Request(force=("shout",)))) == ["cached", "ran"]
    assert sorted(path.parent.name for path in (root / "artifacts").glob("*/*")) == ["shout", "write"]
    with store_of(machine("third")) as store:
        assert [run.id for run in store.runs()] == [2, 1]
        newest = store.artifacts()[0].artifact
        assert place_of(newest).endswith("/2"), "the newest run has the path"


def test_stores_are_equal_on_all_machines(machine):
    roots = [machine("one"), machine("other"), machine("third")]
    run(roots[0])
    run(roots[1], "howdy")
    run(roots[0], request=Request(force=("write",)))
    tables = []
    for root in roots:
        with store_of(root) as store:
            rows = [store.connection.execute(f"SELECT * FROM {name}").fetchall() for name in ("runs", "executions")]
            tables.append([*rows, store.artifacts()])
    assert tables[0] == tables[1] == tables[2]


def test_a_preview_on_a_fresh_machine(machine):
    run(machine("one"))
    pipeline = Pipeline("toy", [toy.shout(text=toy.write(value="hello").output(toy.Text))])
    assert [step.state for step in preview(pipeline, machine("other"), Request())] == ["done", "done"]


def test_a_step_that_another_machine_runs_is_waited_for(machine, memory, monkeypatch):
    monkeypatch.setenv(SECONDS_VARIABLE, "2")
    other = run(machine("one"), request=Request(to="write"))
    with store_of(machine("one")) as store:
        key = store.executions(other.run)[0].key
        store.forget([str(published.artifact.path) for published in store.artifacts()])
    killed = Leases(memory, 99, "elsewhere/1")
    assert killed.claim(key, "write", []) is None
    killed._heartbeat.stop()
    lines = []

    class Lines(Observer):
        def say(self, text):
            lines.append(text)

    assert states(run(machine("other"), observer=Lines())) == ["ran", "ran"]
    assert "write: run 99 (elsewhere) is running it; waiting for its result" in lines


def test_the_report_is_of_this_machines_run(machine):
    roots, said = [machine("one"), machine("other")], []

    class Beside(Observer):
        def finished(self, name, state, seconds):
            if name == "write":
                run(roots[1], "howdy")

    observer = Beside()
    with report_written_after(roots[0], observer, said.append, said.append):
        assert run(roots[0], observer=observer).run == observer.run == 1
    assert said == [f"report: {roots[0] / 'reports' / '1.html'}"]


def test_an_artifact_that_is_gone_is_made_again(machine, memory):
    run(machine("one"))
    memory.remove(name for name in memory.find_all("artifacts/write") if name.endswith("manifest.json"))
    assert states(run(machine("other"))) == ["ran", "cached"]


def test_an_artifact_that_is_damaged_is_made_again_by_the_next_run(machine, memory):
    run(machine("one"))
    (text,) = (name for name in memory.find_all("artifacts/write") if name.endswith("text.txt"))
    memory.write(text, b"hellO")
    root = machine("other")
    with pytest.raises(InputError, match="must be intact, and is damaged or missing; run again"):
        run(root, request=Request(force=("shout",)))
    assert states(run(root)) == ["ran", "cached"]


def test_a_killed_run_gets_its_end_from_the_next_one_of_its_mirror(machine):
    root = machine("one")
    with store_of(root) as store:
        store.start_run("toy")
        leases, store._leases = store._leases, None  # killed: nothing is given back
        leases._heartbeat.stop()
    with store_of(machine("other")) as store:
        assert [run.state for run in store.runs()] == ["running"]
    run(root)
    with store_of(machine("other")) as store:
        assert [run.state for run in store.runs()] == ["done", "interrupted"]


def test_garbage_is_removed_for_all_but_not_what_a_live_run_needs(machine, memory):
    one, other = machine("one"), machine("other")
    run(one, "old")
    run(one, "new")
    with store_of(other) as store:
        (place,) = (place_of(row.artifact) for row in store.artifacts() if row.run == 1 and row.node == "write")
        leases = Leases(memory, 7, "elsewhere/1")
        leases.claim("key", "shout", [place])
        garbage = ObjectStorageRoots().find_garbage(store, other, keep=1)
        assert [path.split("/")[1] for path in garbage.artifacts] == ["shout"]
        leases.end()
        memory.write("artifacts/train/model-0/1/half.bin", b"killed in the middle of an upload")
        garbage = ObjectStorageRoots().find_garbage(store, other, keep=1)
        assert garbage.size > 0
        ObjectStorageRoots().remove_garbage(store, other, garbage)
    left = {name.split("/")[3] for name in memory.find_all("artifacts")}
    assert left == {"2"}
    assert states(run(machine("third"), "new")) == ["cached", "cached"]
    assert states(run(machine("third"), "old")) == ["ran", "ran"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_another_machine_publishes_while_garbage_is_listed_stays(machine, memory, monkeypatch, when):
    one, other = machine("one"), machine("other")
    run(one, "old")
    run(one, "new")
    find_all, runs = ObjectStore.find_all, []

    def find_beside_a_run(self, folder=""):
        listed = find_all(self, folder)
        if folder.startswith("artifacts") and not runs:
            runs.append(0)
            runs.append(run(other, "latest").run)
        return listed if when == "before" else find_all(self, folder)

    with store_of(one) as store:
        with monkeypatch.context() as patch:
            patch.setattr(ObjectStore, "find_all", find_beside_a_run)
            garbage = ObjectStorageRoots().find_garbage(store, one, keep=1)
        assert runs == [0, 3]
        assert {place.rpartition("/")[2] for place in garbage.artifacts} == {"1", "2"}
        ObjectStorageRoots().remove_garbage(store, one, garbage)
    assert {name.split("/")[3] for name in memory.find_all("artifacts")} == {"3"}
    assert states(run(machine("third"), "latest")) == ["cached", "cached"]


def test_what_another_machine_makes_again_between_the_search_and_the_removal_stays(machine, memory):
    one, other = machine("one"), machine("other")
    run(one, "old")
    run(one, "new")
    with store_of(one) as store:
        garbage = ObjectStorageRoots().find_garbage(store, one, keep=1)
        assert {place.rpartition("/")[2] for place in garbage.artifacts} == {"1"}
        assert run(other, "old", request=Request(force=("write", "shout"))).run == 3
        store.refresh()
        ObjectStorageRoots().remove_garbage(store, one, garbage)
    assert {name.split("/")[3] for name in memory.find_all("artifacts")} == {"2", "3"}
    assert states(run(machine("third"), "old")) == ["cached", "cached"]


def test_a_log_that_names_folders_elsewhere_is_refused(machine, memory, tmp_path):
    run(machine("one"))
    (tmp_path / "mine").mkdir()
    entry = memory.read("log/00000001/000001.json")
    assert entry is not None
    content = json.loads(entry)
    content["new"]["text"]["path"] = os.path.relpath(tmp_path / "mine", machine("other"))
    memory.write("log/00000001/000001.json", json.dumps(content).encode())
    with pytest.raises(InputError, match=r"root must keep its artifacts in artifacts/STEP/NAME, got '\.\./"):
        run(machine("other"))
    with store_of(machine("other")) as store, pytest.raises(InputError, match="artifacts/STEP/NAME"):
        ObjectStorageRoots().find_garbage(store, machine("other"), keep=1)
    assert (tmp_path / "mine").is_dir()


def test_objects_that_are_none_of_a_root_do_not_matter(machine, memory):
    run(machine("one"), "old")
    run(machine("one"), "new")
    for folder in ("", "log/", "log/00000001/", "forgotten/", "heartbeats/", "leases/", "leases/key/", "artifacts/"):
        put_raw(folder, b"")
        memory.write(f"{folder}readme.txt", b"our runs")
    root = machine("other")
    assert states(run(root, "new")) == ["cached", "cached"]
    with store_of(root) as store:
        garbage = ObjectStorageRoots().find_garbage(store, root, keep=1)
        assert [*garbage.artifacts] == [place for place in garbage.artifacts if place.endswith("/1")] != []
        ObjectStorageRoots().remove_garbage(store, root, garbage)
    assert memory.read("artifacts/readme.txt") == b"our runs"


def test_a_root_of_another_format_is_refused(memory, machine):
    memory.write("format.json", b'{"format": 1}')
    with pytest.raises(InputError, match="root must have format 2, got format 1 in memory://bucket/root"):
        open_mirror(ADDRESS)


def test_a_place_with_other_objects_is_refused(memory, machine):
    memory.write("holiday.jpg", b"")
    with pytest.raises(InputError, match=r"root must be a new or empty place.*it holds holiday.jpg"):
        open_mirror(ADDRESS)


def test_a_mirror_that_was_deleted_is_made_anew(machine):
    root = machine("one")
    run(root)
    shutil.rmtree(root)
    assert states(run(machine("one"))) == ["cached", "cached"]


def test_a_local_run_imports_no_file_system(tmp_path):
    code = (
        "import sys; from tests.robustness.crash.toy_pipeline import build_pipeline, PRELOAD;"
        "from pipeline.orchestrator.runner import run_pipeline; import pipeline.cli;"
        f"run_pipeline(build_pipeline({str(tmp_path / 'root')!r}), {str(tmp_path / 'root')!r}, preload=PRELOAD);"
        "print([name for name in sys.modules if name.split('.')[0] in ('fsspec', 's3fs') or 'remote_roots' in name])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
