"""General distillation: a student learns the states of a pre-trained encoder on plain text, before any task."""

from components.artifacts.standard import Model, TextExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors, table_errors
from components.training.model_folder import read_model, write_model
from components.training.progress import StepMonitor, reproducible_scope
from keras_bert.options.compression import StateImitation, Student
from keras_bert.options.training import Training


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), kind="training", distributed=True)
def distill_general(
    start: Input[Model],
    texts: Input[TextExamples],
    student: Output[Model],
    shape: Student,
    imitation: StateImitation,
    training: Training = Training(epochs=1.0, learning_rate=5e-4),
) -> None:
    """Trains a student of a pre-trained encoder (Jiao et al. 2020, section 3.2; Wang et al. 2020).

    A student as wide as the encoder starts from its layers; with fewer heads or a narrower feed-forward layer, it keeps
    the parts that move the final states of the first texts most, see `RandomProbes`. Any other student starts from
    random weights. The artifact's count `layers_from_teacher` says how many blocks come from the encoder.

    The student has neither a head nor a pooler; as a task it gives the mean of the final states.

    Raises:
        InputError: the encoder has no such layers, the shape is invalid, or a loss does not fit the models.
    """
    from keras_bert.compress.imitation import StatesObjective
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.recipes.students import make_student
    from keras_bert.recipes.train import train
    from keras_bert.tasks.embedding import Embedding

    rows = RecordRows(texts.path)
    with reproducible_scope(training.seed):
        pretrained = read_model(start)
        # As an embedding task, which has no head.
        teacher = Embedding.build(pretrained.encoder, pretrained.tokenizer, max_length=rows.max_length)
        with input_errors("student: "):
            task, copied = make_student(teacher, shape, rows, training, is_trained=False)
        with table_errors("general_distillation"):
            objective = StatesObjective(task.network(), teacher.network(), imitation)
        phases = [(objective, training.count_steps(rows.count))]
        history = train(task, objective.joint, phases, rows, training, StepMonitor(texts))
    write_model(student, task, history, training.precision)
    student.counts["layers_from_teacher"] = copied
