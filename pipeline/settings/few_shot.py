"""What fine-tuning on few rows needs of the other tables of a job."""

from components.dsl.errors import InputError
from components.examples.label_pairs import PAIRED_TASKS
from pipeline.settings.schema import Settings


def check_few_shot(settings: Settings) -> None:
    """Raises InputError where `[few_shot]` has no task, or another table asks for another way to fine-tune."""
    source = settings.examples
    if settings.few_shot is None or source is None:
        return
    if source.task not in PAIRED_TASKS:
        named = " and ".join(PAIRED_TASKS)
        raise InputError(f"few_shot must be left out but for {named}, got it for {source.task}")
    second_text = getattr(source, "second_text", None)
    if second_text is not None:
        rule = "be left out where there is a [few_shot], which pairs rows of single texts"
        raise InputError(f"examples.second_text must {rule}, got {second_text!r}")
    if settings.pooling not in (None, "mean"):
        raise InputError(f"pooling must be 'mean' where there is a [few_shot], got {settings.pooling!r}")
    if settings.adaptation is not None:
        rule = "be left out where there is a [few_shot], whose head is fitted to the weights of the encoder itself"
        raise InputError(f"adaptation must {rule}")
