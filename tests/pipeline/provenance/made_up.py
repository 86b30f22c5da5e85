"""A root with runs, artifacts and pushed versions, without anything having run."""

import json

from components.artifacts.evaluation import Evaluation, MeasuredModel, Metrics, SeedScores
from components.artifacts.pushed import Pushed
from components.dsl.artifact import content_digest
from pipeline.orchestrator.records import Execution, Ingredients, NewArtifact
from pipeline.orchestrator.store import Store
from tests.pipeline.orchestrator.toy import Text


def ingredients(component, files=None):
    """Of a key, with the user's files of its parameter `source`."""
    read = {"source": files} if files else {}
    return Ingredients(component, {}, {"size": 3}, "c", {"keras": "3.15"}, "3.11", {"m": "d"}, read)


class Jobs:
    """Writes runs of a job of three steps: rows -> model -> evaluate -> push."""

    def __init__(self, root):
        root.mkdir(exist_ok=True)
        self.root, self.store = root, Store(root)

    def run(
        self, name, accuracy=0.5, *, pipeline="job", seeds=1, push=True, model="", state="done", part_of=None, task=""
    ):
        """One run, whose artifacts all have `name` in their content, or the pushed one that of `model`; its number.

        With a `task` the scores are those of one of several.
        """
        run = self.store.start_run(pipeline, {"name": pipeline, "training": {"seeds": seeds}}, part_of)
        (self.root / "logs" / str(run)).mkdir(parents=True)
        (self.root / "logs" / str(run) / "rows.log").write_text("a line\n")
        rows = self._make(run, "rows", name, {}, {"/data/rows.csv": "f" * 64})
        trained = self._make(run, "model", name, {"rows": rows})
        teacher = MeasuredModel({"accuracy": SeedScores.of([accuracy])}, megabytes=1.5)
        metrics = Metrics(
            task="classification",
            metric="accuracy",
            rows={"test": 4},
            shipped="teacher",
            kept=0,
            models={"teacher": teacher},
        )
        scores = json.dumps(metrics.as_json())
        step = f"evaluate-{task}" if task else "evaluate"
        measured = self._make(run, step, name, {"model": trained}, kind=Evaluation, content=scores)
        if push:
            folder = self.root / "pushed" / f"{name}-{run}"
            folder.mkdir(parents=True)
            (folder / "model.tflite").write_text(f"model {model or name}")
            files = {"model.tflite": content_digest(folder / "model.tflite")}
            content = json.dumps({"path": f"../../../pushed/{folder.name}", "version": 1, "files": files})
            self._make(run, "push", name, {"model": trained, "evaluation": measured}, kind=Pushed, content=content)
        self.store.finish_run(run, state)
        return run

    def _make(self, run, node, name, inputs, files=None, kind=Text, content=""):
        path = f"artifacts/{node}/out-{name}"
        artifact = kind(self.root / path)
        artifact.path.mkdir(parents=True)
        file = {Text: "text.txt", Evaluation: "metrics.json", Pushed: "pushed.json"}[kind]
        artifact.file(file).write_text(content or f"{node} {name}")
        new = NewArtifact(kind.__name__, artifact.seal({}), path)
        execution = Execution(run, node, node, f"{node}-{name}", "ran", 1.0)
        return self.store.publish(execution, inputs, {"out": new}, ingredients(f"m.{node}", files))["out"]
