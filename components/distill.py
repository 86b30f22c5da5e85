"""Distillation: a smaller student learns from a fine-tuned teacher."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors, table_errors
from components.training.model_folder import read_model, write_model
from components.training.progress import StepMonitor, reproducible_scope
from components.training.tuning import HeadSettings, build_task, count_tuning_rows, tune_task
from keras_bert.options.students import AnyStudent
from keras_bert.options.tables import DistillationSettings


@component(
    libraries=("keras", "numpy", "scipy", "tensorflow", "tensorflow-text", "threadpoolctl"),
    kind="training",
    distributed=True,
)
def distill(
    teacher: Input[Model],
    examples: Input[TaskExamples],
    student: Output[Model],
    shape: AnyStudent,
    general_student: Input[Model] | None = None,
    distillation: DistillationSettings = DistillationSettings(),
    new_head: HeadSettings | None = None,
) -> None:
    """Trains a student on the labels, on the teacher's answers, and on its states and attention as `distillation` says.

    A general student continues from its weights, with those layers of the teacher's head that fit. Else a student as
    wide as its teacher starts from the teacher's layers; with fewer heads or a narrower feed-forward layer, it keeps
    their most important parts for the first rows. Any other student starts from random weights. The artifact's counts
    `layers_from_text` and `layers_from_teacher` say how many of its blocks were initialized so: all, or none.

    `general_student`: the output of `distill_general` for the same shape, distilled from the model that the teacher was
    fine-tuned from. With `new_head` the teacher is a pre-trained model of any kind, which gets a head with these
    settings; the examples then hold the answers.

    Raises:
        InputError: the teacher has no such layers, the shape is invalid or differs from the general student's, or a
            loss of the imitation does not fit the models.
    """
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.models.encoder import config_of
    from keras_bert.recipes.distill import distill_student, distillation_objective
    from keras_bert.recipes.students import make_student
    from keras_bert.recipes.texts import match_width

    rows, is_trained = RecordRows(examples.path), new_head is None
    with reproducible_scope(distillation.seed):
        teacher_task = read_model(teacher)
        if new_head is not None:
            teacher_task = build_task(teacher_task, examples.features(), new_head)
        general = None if general_student is None else read_model(general_student)
        with input_errors("student: "):
            task, copied = make_student(
                teacher_task, shape, rows, distillation, is_trained=is_trained, general_student=general
            )
        task = match_width(task, rows, distillation)
        with table_errors("distillation"):
            objective = distillation_objective(teacher_task, task, rows, distillation)
        monitor = StepMonitor(examples, scored_after=count_tuning_rows(task, examples))
        # The blocks of a general student may have a width of their own, which the teacher's head does not fit.
        fits = copied > 0 and config_of(task.model).hidden_size == config_of(teacher_task.model).hidden_size
        start = {"is_copied": fits, "is_trained": is_trained}
        history = distill_student(teacher_task, task, objective, rows, distillation, monitor, **start)
        task = shape.finish(task)
    if space := examples.features().get("space"):  # of texts with a teacher's vectors
        task.space = space
    tune_task(task, examples)
    write_model(student, task, history, distillation.precision)
    student.counts["layers_from_teacher"] = copied if general_student is None else 0
    if general_student is not None:
        student.counts["layers_from_text"] = copied
