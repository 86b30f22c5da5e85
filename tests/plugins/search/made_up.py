"""Trainings of a search that are made up: their scores follow from their settings, and each takes ten seconds."""

import hashlib
import json
import math

from components.artifacts.standard import Model
from components.dsl.component import Role
from components.dsl.errors import InputError
from pipeline.orchestrator.graph import sources_of
from pipeline.orchestrator.records import Execution
from pipeline.orchestrator.runner import RunResult, StepResult
from plugins.search.artifacts import Validation, ValidationScore

SECONDS = 10.0
VALIDATIONS = 2
# Component -> its parameter with the settings of the training.
TRAININGS = {"fine_tune": "fine_tuning", "distill": "distillation"}
TRAININGS |= {f"{name}_together": table for name, table in TRAININGS.items()}
DIVERGED = "Step {} failed: keras_bert.training.trainer.NonFiniteLossError: loss is nan at step 3\n  log: x"


def peak(node, training):
    """Best at a learning rate of 1e-4, and a little better with more epochs, smaller batches and later seeds."""
    distance = abs(math.log10(training.learning_rate / 1e-4))
    return 0.9 - 0.2 * distance + 0.01 * min(training.epochs, 3.0) - 1e-4 * training.batch_size + 0.001 * training.seed


class MadeUpRuns:
    """In place of `run_pipeline`, and of the store of its root.

    Args:
        root: the root.
        score: the score of a training.
        stop_at: the number of the new training in whose midst the process is stopped, from 1; 0 for never.
        version: another one stands for other code or data.

    Attributes:
        trained: the trainings that have begun, each as its component, learning rate and seed.
        recorded: `part_of` and `is_whole` of each run.
        settings: the settings that each run is recorded with.
    """

    def __init__(self, root, score=peak, stop_at=0, version=""):
        self._root, self._score, self._stop_at, self._version = root, score, stop_at, version
        self.trained = []
        self.recorded = []
        self.settings = []
        self._executions = {}
        self._earlier_runs = max((int(log.name) for log in (root / "logs").glob("*")), default=0)

    def run_pipeline(self, pipeline, root, *, observer, part_of, is_whole, settings, **_):
        """Runs the nodes; those that ran before, in this process or an earlier one, are cached."""
        self.recorded.append((part_of, is_whole))
        self.settings.append(settings)
        run, steps = self._earlier_runs + len(self.recorded), []
        observer.run = run
        executions = self._executions[run] = []
        for node in pipeline.nodes:
            executions.append(Execution(run, node.name, node.component.name, self._key(node), "ran", SECONDS))
            try:
                steps.append(self._step(node, observer, run))
            except InputError as error:
                executions[-1] = executions[-1]._replace(state="failed", message=str(error))
                raise
            except ArithmeticError:
                steps.append(StepResult(node.name, "failed", SECONDS, {}, DIVERGED.format(node.name)))
                return RunResult(run, root, "failed", tuple(steps))
        return RunResult(run, root, "done", tuple(steps))

    def open_store(self, root, *, create):
        """This object as the store."""
        return self

    def close(self):
        """Closes the store."""

    def executions(self, run):
        """The executions of a run."""
        return self._executions[run]

    def _step(self, node, observer, run):
        folder = self._root / "artifacts" / node.name / self._key(node)
        is_new = not folder.exists()
        if is_new and node.component.name in TRAININGS:
            self._train(node, observer, run, folder)
        elif is_new:
            folder.mkdir(parents=True)
        if is_new and node.component.name.startswith("validate"):
            Validation(folder).write(ValidationScore("accuracy", self._score_of(node), 100))
        outputs = node.component.of_role(Role.OUTPUT)
        artifacts = {name: output.artifact(folder) for name, output in outputs.items() if output.artifact}
        return StepResult(node.name, "ran" if is_new else "cached", SECONDS, artifacts, worked=SECONDS)

    def _train(self, node, observer, run, folder):
        training = node.values[TRAININGS[node.component.name]]
        self.trained.append((node.component.name, training.learning_rate, training.seed))
        score = self._score(node, training)
        record = self._root / "logs" / str(run) / node.name / "seed-0"
        record.mkdir(parents=True)
        lines = [json.dumps({"step": step, "validation_accuracy": score}) + "\n" for step in range(VALIDATIONS)]
        with observer.step(node.name, None, record.parent) as watcher:
            for line in lines:
                with (record / "history.jsonl").open("a") as stream:
                    stream.write(line)
                watcher.tick()
                if len(self.trained) == self._stop_at:
                    raise KeyboardInterrupt
        folder.mkdir(parents=True)
        (folder / "history.jsonl").write_text("".join(lines))

    def _score_of(self, node):
        """The score of the training behind a `validate`; quantization costs a point."""
        loss = 0.0
        while node.component.name not in TRAININGS:
            loss += 0.01 if node.component.name.startswith("quantize") else 0.0
            # The student is the first model that `distill` reads, and `quantize` and `validate` read one.
            node = next(handle.node for handle in sources_of(node) if issubclass(handle.artifact, Model))
        return self._score(node, node.values[TRAININGS[node.component.name]]) - loss

    def _key(self, node):
        sources = [self._key(handle.node) for handle in sources_of(node)]
        parts = [node.component.name, self._version, repr(sorted(node.values.items(), key=str)), *sources]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
