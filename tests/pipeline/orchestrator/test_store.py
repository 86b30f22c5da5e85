import contextlib
import sqlite3

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator import database
from pipeline.orchestrator.database import SCHEMA_VERSION
from pipeline.orchestrator.records import Cost, Execution, Ingredients, NewArtifact, StoredArtifact
from pipeline.orchestrator.root_store import DATABASE
from pipeline.orchestrator.store import Store


# A database as the first release made it, written out: what was published then must be found for as long as the schema
# has this number.
@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def add(store, key, fingerprint, inputs=None, kind="Text"):
    run = store.start_run("toy")
    new = {"out": NewArtifact(kind, fingerprint, f"artifacts/node/out-{key}")}
    stored = store.publish(Execution(run, "node", "node", key, "ran", 2.0), inputs or {}, new)
    store.finish_run(run, "done")
    return stored["out"]


def test_published_artifact_is_found_again(store, tmp_path):
    assert store.find("k") is None
    assert not store.artifacts()
    made = add(store, "k", "f")
    store.close()
    again = Store(tmp_path)
    assert again.find("k") == {"out": made}
    assert again.paths() == {"artifacts/node/out-k"}
    assert again.artifacts()


def test_a_run_is_found_by_its_number_alone(store):
    with pytest.raises(InputError, match=r"^RUN must be a number that show lists, none yet, got 1$"):
        store.run_of(1)
    numbers = [store.start_run("toy") for _ in range(2)]
    assert [store.run_of(number).id for number in numbers] == numbers
    with pytest.raises(InputError, match=r"^--run must be a number that show lists, 1 to 2, got 0$"):
        store.run_of(0, "--run")


def test_only_what_ran_is_found(store):
    run = store.start_run("toy")
    store.record(Execution(run, "node", "node", "k", "failed", 1.0, "broken"), {})
    assert store.find("k") is None
    assert store.last_ran("node", "toy") is None
    made = add(store, "k", "f")
    store.record(Execution(run, "node", "node", "k", "cached", 0.0), {}, {"out": made})
    assert store.find("k") == {"out": made}
    last = store.last_ran("node", "toy")
    assert last.seconds == 2.0
    assert store.last_ran("node", "toy/ladder") == last
    search = store.start_run("toy/search")
    store.record(Execution(search, "node", "node", "k2", "ran", 9.0), {})
    assert store.last_ran("node", "toy") == last, "a trial of a search takes another time than the job"
    assert store.last_ran("node", "toy/search").seconds == 9.0
    assert [store.last_ran("node", job) for job in ("to", "toyota", "other")] == [None] * 3
    assert store.ran_under("k") == last
    assert store.ran_under("other") is None
    assert [e.state for e in store.executions(run)] == ["failed", "cached"]
    assert store.executions(run)[0].message == "broken"


def test_replacing_an_artifact_keeps_its_row_without_a_path(store):
    old, new = add(store, "k", "f"), add(store, "k", "g")
    assert store.find("k") == {"out": new}
    assert [row.artifact for row in store.artifacts()] == [new]
    assert old.id != new.id


def test_publishing_is_all_or_nothing(store):
    run = store.start_run("toy")
    stranger = StoredArtifact(99, "Text", "f", "nowhere")
    with pytest.raises(sqlite3.IntegrityError):
        store.publish(
            Execution(run, "n", "n", "k", "ran", 1.0),
            {"in": stranger},
            {"out": NewArtifact("Text", "f", "artifacts/n")},
        )
    assert not store.artifacts()
    assert store.executions(run) == []


@pytest.mark.parametrize(
    "path", ["../../home", "/home", "artifacts/../home", "artifacts/a/b/c", "artifacts/a", "logs/a/b", "artifacts//b"]
)
def test_metadata_that_name_folders_elsewhere_are_refused(store, path):
    made = add(store, "k", "f")
    store.connection.execute("UPDATE artifacts SET path = ?", (path,))
    for read in (store.artifacts, lambda: store.find("k"), lambda: store.artifacts_of(made.id, "output")):
        with pytest.raises(InputError, match=f"must keep its artifacts in artifacts/STEP/NAME, got '{path}'"):
            read()


def test_runs_and_artifacts_are_listed_newest_first(store):
    add(store, "1", "f")
    add(store, "2", "g")
    assert [(run.id, run.pipeline, run.state) for run in store.runs()] == [(2, "toy", "done"), (1, "toy", "done")]
    assert [(row.node, row.name, row.run) for row in store.artifacts()] == [("node", "out", 2), ("node", "out", 1)]


def test_a_run_that_never_ended_was_interrupted(store):
    store.start_run("toy")
    store.start_run("toy")
    assert [run.state for run in store.runs()] == ["running", "interrupted"]


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_another_schema_version_is_refused(store, tmp_path, version):
    store.close()
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(InputError) as caught:
        Store(tmp_path)
    rule = f"root must hold a database of schema version {SCHEMA_VERSION}, got version {version} in {tmp_path}"
    assert str(caught.value) == f"{rule}; use another root, or the release that made it"


def test_tables_are_created_all_or_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "TABLES", database.TABLES + "CREATE TABLE runs (x);")
    with pytest.raises(InputError, match="table runs already exists"):
        Store(tmp_path)
    monkeypatch.undo()
    assert Store(tmp_path).runs() == []


def test_ingredients_of_a_key_are_kept_once(store):
    run = store.start_run("toy", {"name": "toy", "seeds": 2})
    made = Ingredients(
        "m.node", {"in": "f"}, {"x": [1]}, "c", {"keras": "3"}, "3.11", {"m": "d"}, {"x": {"a.txt": "e"}}
    )
    for key in ("k", "l", "k"):
        store.record(Execution(run, "node", "node", key, "failed", 1.0, "no"), {}, ingredients=made)
    assert store.ingredients("k") == store.ingredients("l") == made
    assert store.ingredients("other") is None
    assert store.settings(run) == {"name": "toy", "seeds": 2}


def test_the_last_execution_of_a_node(store):
    first = add(store, "1", "f")
    second = add(store, "2", "g", {"in": first})
    run = store.start_run("toy")
    store.record(Execution(run, "node", "node", "2", "cached", 0.0), {"in": first}, {"out": second})
    other = store.start_run("other")
    store.record(Execution(other, "node", "node", "3", "failed", 0.0, "no", Cost(2.0, 10)), {})
    newest = store.last_of("node", "toy")
    assert (newest.execution.run, newest.execution.state) == (run, "cached")
    assert store.artifacts_of(newest.id, "input") == {"in": first}
    before = store.last_of("node", "toy", before=run)
    assert before is not None
    assert before == store.maker_of(second.id)
    assert store.last_of("node", "toy", before=1) is None
    assert store.last_of("nobody", "toy") is None
    failed = store.last_of("node", "other")
    assert failed.execution.cost == Cost(2.0, 10)
    with pytest.raises(KeyError):
        store.maker_of(99)


def test_forgotten_artifacts_stay_in_the_lineage(store):
    made = add(store, "1", "f")
    store.forget(["artifacts/node/out-1"])
    assert store.paths() == set()
    assert store.maker_of(made.id).execution.key == "1"


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / DATABASE).write_text("not a database at all, but long enough to be taken for one " * 20)
    with pytest.raises(InputError, match="root must hold a database that can be used"):
        Store(tmp_path)


@pytest.mark.parametrize("part", ["pages", "text"])
def test_damage_is_told_of_in_one_line(store, tmp_path, part):
    for number in range(40):
        add(store, f"key-{number}", f"fingerprint-{number}")
    store.close()
    file = tmp_path / DATABASE
    content = file.read_bytes()
    if part == "pages":
        content = content[:4096] + bytes(4096) + content[8192:]
    else:
        content = content.replace(b"artifacts/node", b"artif\xff\xff\xff/node")
    file.write_bytes(content)
    with pytest.raises(InputError) as caught, contextlib.closing(Store(tmp_path)) as damaged:
        damaged.artifacts()
    assert str(caught.value).startswith(f"root must hold a database that can be used, got {file}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_reading_while_another_writes(store, tmp_path):
    run = store.start_run("toy")
    assert Store(tmp_path, create=False).runs()[0].id == run
