"""A root that looks as if a job had run in it: a store with three steps and more, artifacts of a few bytes, logs."""

import contextlib
import gzip
import json

from components.dsl.artifact import MANIFEST, Artifact
from pipeline.orchestrator.records import Execution, NewArtifact
from pipeline.orchestrator.store import Store

SCRIPT = "<script>alert('it')</script>"
HISTORY = [
    {"step": 5, "learning_rate": 2e-4, "loss": 0.9, "tokens_per_second": 800.0},
    {"step": 10, "learning_rate": 0.0, "loss": 0.5, "validation_loss": 0.6, "validation_accuracy": 0.75},
]
STATISTICS = {
    "documents": {"in the source": 12, "kept": 10, "dropped": 2},
    "dropped": {"too short": 2},
    "bytes a document": {"median": 1200},
}
FEATURES = {
    "task": "classification",
    "max_length": 16,
    "rows": {"test": 4, "train": 3, "validation": 2},
    "labels": {"train": {"farm": 2, "sea": 1}, "test": {"farm": 2, "sea": 2}},
    "truncated_share": {"train": 0.5, "test": 0.0},
}
ROWS = [
    {"text": f"the ship {SCRIPT}", "label": "sea", "second_text": None},
    {"text": "a cow", "label": "farm", "second_text": None},
    {"text": "one old barn", "label": "farm", "second_text": None},
]
SAMPLES = [{"pieces": ["[CLS]", "the", "[MASK]", "[SEP]"], "hidden": [[2, "ship"]], "label": None}]


def spread(*values):
    """A metric over seeds."""
    sd = None if len(values) == 1 else 0.01
    return {"mean": sum(values) / len(values), "sd": sd, "seeds": list(values)}


def measured(*seeds):
    """What `metrics.json` says of a teacher and a file."""
    size = {"megabytes": 4.0, "milliseconds": 8.0}
    return {
        "task": "classification",
        "metric": "accuracy",
        "rows": {"test": 4},
        "labels": ["farm", "sea"],
        "shipped": "tflite int8",
        "kept": 0,
        "models": {
            "majority class": {"metrics": {"accuracy": spread(0.5)}, "trivial": True},
            "teacher": {"metrics": {"accuracy": spread(*(seeds or (0.8,)))}, **size},
            "tflite int8": {
                "metrics": {"accuracy": spread(0.75)},
                "megabytes": 1.0,
                "download_megabytes": 0.9,
                "milliseconds": 2.0,
            },
        },
        "report": {
            "farm": {"precision": 1.0, "recall": 0.5, "f1": 0.6667, "support": 2},
            "sea": {"precision": 0.6667, "recall": 1.0, "f1": 0.8, "support": 2},
        },
        "confusion": [[1, 1], [0, 2]],
        "calibration": {
            "temperature": 1.25,
            "validation": {"calibration_error": [0.1, 0.02]},
            "test": {"calibration_error": [0.2, 0.03]},
        },
    }


def answers():
    """What `answers.json` says: one wrong answer, in a row that holds a script."""
    wrong = {"texts": [f"a gull {SCRIPT}"], "truth": "farm", "answer": "sea", "value": 0.93, "words": []}
    bucket = {"rows": 4, "confidence": 0.9, "accuracy": 0.75}
    bins = [None] * 13 + [bucket, None]
    return {
        "mistakes": {"measure": "confidence", "rows": [wrong], "wrong": 1, "total": 4},
        "reliability": {"before": bins, "after": bins},
    }


class Root:
    """A root in a folder, whose runs are made up step by step.

    Args:
        path: an empty folder.
    """

    def __init__(self, path):
        self.path = path
        self._made = {}

    def run(self, *nodes, pipeline="job", state="done", plan=None):
        """A run of some steps, see `node`, of those that it was to take; gives its number."""
        with contextlib.closing(Store(self.path)) as store:
            run = store.start_run(pipeline, plan=plan)
            for node in nodes:
                self._record(store, run, node)
            store.finish_run(run, state)
        return run

    def folder(self, step, name):
        """Where the output of a step lies."""
        return self.path / str(self._made[step][name].path)

    def log(self, run, step, lines, place="seed-0"):
        """The record of a training."""
        folder = self.path / "logs" / str(run) / step / place
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "history.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    def _record(self, store, run, node):
        name, state = node["name"], node["state"]
        component = node["component"] or name
        inputs = {
            f"{source}.{artifact_name}": made
            for source in node["reads"]
            for artifact_name, made in self._made[source].items()
        }
        done = Execution(run, name, component, f"key of {node['key'] or name}", state, 2.0, node["message"])
        if state == "ran":
            new = {
                artifact_name: self._write(
                    kind, f"artifacts/{name}/{artifact_name}-{run}", node["files"][artifact_name]
                )
                for artifact_name, kind in node["makes"].items()
            }
            self._made[name] = store.publish(done, inputs, new)
        else:
            outputs = store.find(done.key) if state == "cached" else None
            self._made[name] = outputs or {}
            store.record(done, inputs, outputs)

    def _write(self, kind, path, files):
        manifest = files.get(MANIFEST, {})
        write_files(self.path / path, {name: content for name, content in files.items() if name != MANIFEST})
        artifact = type(kind, (Artifact,), {})(self.path / path)
        return NewArtifact(kind, artifact.seal(manifest.get("parameters", {})), path)


def write_files(folder, files):
    """Files of JSON, or of JSON lines that are compressed where the name says so."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        if name.endswith(".jsonl.gz"):
            (folder / name).write_bytes(gzip.compress("".join(f"{json.dumps(line)}\n" for line in content).encode()))
        else:
            (folder / name).write_text(json.dumps(content))


def node(name, *reads, makes=None, files=None, state="ran", message="", key="", component=""):
    """A step: the others that it reads all outputs of, its outputs with their types, and the files of each."""
    outputs = {"makes": makes or {}, "files": {item: {} for item in makes or {}} | (files or {})}
    return {
        "name": name,
        "reads": reads,
        "state": state,
        "message": message,
        "key": key,
        "component": component,
        **outputs,
    }


def job(root, **measures):
    """A whole job from documents to a pushed file; gives the number of its run."""
    manifest = {"parameters": {"component": "x", "source": {"type": "TextSource", "fingerprint": "d" * 64}}}
    dropped = [{"id": "1", "source": "a.txt", "reason": "too short", "detail": "4 bytes", "text": f"hm {SCRIPT}"}]
    run = root.run(
        node(
            "ingest_corpus",
            makes={"corpus": "Corpus"},
            files={
                "corpus": {
                    "statistics.json": STATISTICS,
                    "manifest.json": manifest,
                    "dropped-00000-of-00001.jsonl.gz": dropped,
                }
            },
        ),
        node(
            "mask_examples",
            "ingest_corpus",
            makes={"examples": "PretrainingExamples"},
            files={"examples": {"statistics.json": {"train: tokens a row": [["4", 2]]}, "samples.json": SAMPLES}},
        ),
        node(
            "ingest_examples",
            makes={"examples": "TaskExamples"},
            files={"examples": {"features.json": FEATURES, "train.jsonl.gz": ROWS}},
        ),
        node("fine_tune", "mask_examples", "ingest_examples", makes={"model": "Model"}),
        node(
            "evaluate",
            "fine_tune",
            "ingest_examples",
            makes={"evaluation": "Evaluation", "blessing": "Blessing"},
            files={
                "evaluation": {"metrics.json": measured(**measures), "answers.json": answers()},
                "blessing": {
                    "blessing.json": {"blessed": True, "reasons": ["yes: good", "NO: bad", "not compared: x"]}
                },
            },
        ),
        node(
            "push",
            "evaluate",
            makes={"pushed": "Pushed"},
            files={"pushed": {"pushed.json": {"path": "/there/job/1"}}},
        ),
    )
    root.log(run, "fine_tune", HISTORY)
    return run
