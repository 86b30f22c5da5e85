"""What the last artifact came from."""

from components.dsl.artifact import open_artifact
from pipeline.report.origins import read_origins
from pipeline.report.record import read_record
from tests.pipeline.provenance.made_up import Jobs
from tests.pipeline.report.made_up import Root, job, node

MAKES = {"out": "Text"}


def test_the_way_from_the_users_data_to_what_was_pushed(tmp_path):
    job(Root(tmp_path))
    origins = read_origins(read_record(tmp_path))
    assert [(origin.step, origin.reads) for origin in origins] == [
        ("ingest_corpus", []),
        ("mask_examples", ["ingest_corpus"]),
        ("ingest_examples", []),
        ("fine_tune", ["ingest_examples", "mask_examples"]),
        ("evaluate", ["fine_tune", "ingest_examples"]),
        ("push", ["evaluate"]),
    ]
    assert origins[0].data == [("source", "TextSource", "d" * 64)]
    digest = open_artifact(tmp_path / "artifacts" / "push" / "pushed-1", "Pushed").fingerprint()
    assert origins[-1].made == [("pushed", "Pushed", digest, "artifacts/push/pushed-1")]


def test_what_is_not_behind_the_last_artifact_is_left_out(tmp_path):
    root = Root(tmp_path)
    root.run(node("a", makes=MAKES))
    steps = (node("a", state="cached"), node("b", makes=MAKES), node("c", "a", makes=MAKES))
    root.run(*steps, node("d", "c", state="failed", message="no"), state="failed")
    assert [(origin.step, origin.run) for origin in read_origins(read_record(tmp_path))] == [("a", 1), ("c", 2)]


def test_a_run_that_made_nothing_comes_from_nothing(tmp_path):
    Root(tmp_path).run(node("a", state="failed", message="no"), state="failed")
    assert read_origins(read_record(tmp_path)) == []


def test_files_are_named_where_they_were_recorded(tmp_path):
    Jobs(tmp_path).run("a")
    origins = read_origins(read_record(tmp_path))
    assert [(origin.step, origin.data) for origin in origins if origin.data] == [
        ("rows", [("source", "/data/rows.csv", "f" * 64)])
    ]
