"""The wiring of trials: models with their scores on validation rows, which share all steps that are equal."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from components.artifacts.measurements import Validation
from components.artifacts.standard import Model
from components.dsl.component import Handle
from components.validate import validate
from pipeline.chains import Chain, Stage
from pipeline.nodes import append_name
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import pipeline_of, wire_start
from pipeline.settings.schema import Settings


class TrialOutputs(NamedTuple):
    """A trained model of one seed, its score, and the score of the model that later stages make of it.

    Attributes:
        training: the output of the training whose settings are searched.
        model: the trained model: that output, or the classifier whose head is fitted on it.
        validation: its score.
        last_validation: the score of the last model; that of the trained one without later stages.
        steps: the names of the steps from the input of the training to the score.
        later_steps: the names of those that follow.
    """

    training: Handle[Model]
    model: Handle[Model]
    validation: Handle[Validation]
    last_validation: Handle[Validation]
    steps: frozenset[str]
    later_steps: frozenset[str]

    def pipeline(self, settings: Settings) -> Pipeline:
        """The pipeline that makes both scores."""
        return pipeline_of(_name(settings), [self.validation, self.last_validation])


def start_pipeline(settings: Settings) -> Pipeline:
    """The steps that all trials share: the rows, and the models that trainings start from."""
    start, rows = wire_start(settings)
    return pipeline_of(_name(settings), [start.model, rows, *([] if start.student is None else [start.student])])


def teacher_pipeline(settings: Settings, seed: int) -> Pipeline:
    """The steps that all students of a seed share."""
    return pipeline_of(_name(settings), [wire_trial(settings, seed, ()).model])


def wire_trial(settings: Settings, seed: int, stages: Sequence[Stage], later: Sequence[Stage] = ()) -> TrialOutputs:
    """The training of one seed, as a run of the job has it.

    Args:
        settings: the job with the values of the trial.
        seed: the number of the seed, from 0.
        stages: the stages that make the trained model of the teacher.
        later: the stages that follow.
    """
    # Names of steps need no numbers, as a pipeline has one seed.
    settings = settings.model_copy(update={"seeds": 1})
    start, rows = wire_start(settings)
    chain = Chain(settings, start, rows, seed)

    def score(model: Handle[Model]) -> Handle[Validation]:
        node = validate(examples=rows, model=model, metric=settings.evaluation.metric)
        return append_name(node, model.node.name).output(Validation)

    training = model = chain.model(stages)
    encoder = model.node.inputs.get("encoder")
    if isinstance(encoder, Handle):  # whose vectors a head is fitted to
        training = encoder.node.output(Model)
    validation = score(model)
    last_validation = score(chain.model([*stages, *later])) if later else validation
    before = _step_names(start.model, rows, *([chain.model()] if stages else []))
    steps, all_steps = _step_names(validation), _step_names(last_validation)
    return TrialOutputs(training, model, validation, last_validation, steps - before, all_steps - steps)


def _name(settings: Settings) -> str:
    return f"{settings.name}/search"


def _step_names(*handles: Handle[Any]) -> frozenset[str]:
    return frozenset(node.name for node in pipeline_of("steps", handles).nodes)
