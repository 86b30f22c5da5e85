"""What the tables of a pre-training need of one another."""

from components.dsl.errors import InputError, table_errors
from keras_bert.families.deberta.settings import DeBERTa
from pipeline.settings.schema import Settings


def check_pretraining(settings: Settings) -> None:
    """Raises InputError where rows, masking or generator do not suit the objective of the pre-training."""
    pretraining, rows = settings.pretraining, settings.pretraining_rows
    if pretraining.objective == "replaced_tokens":
        for name, value, default in (
            ("pretraining_rows.objective", rows.objective, "none"),
            ("pretraining.span_boundary", pretraining.span_boundary, False),
        ):
            if value != default:
                rule = f"be {default!r} where pretraining.objective is 'replaced_tokens', which learns nothing from it"
                raise InputError(f"{name} must {rule}, got {value!r}")
        if settings.encoder is not None:  # a checkpoint's encoder is read only during the run
            with table_errors("generator"):
                shape = settings.encoder.encoder_config(settings.vocabulary.size, settings.max_length)
                settings.generator.config(shape)
    elif "generator" in settings.model_fields_set:
        raise InputError("generator must be left out where pretraining.objective is not 'replaced_tokens'")
    variant = settings.encoder and settings.encoder.variant
    if pretraining.mask_decoder and settings.encoder is not None and not isinstance(variant, DeBERTa):
        raise InputError("pretraining.mask_decoder must be false where encoder.variant.kind is not 'deberta'")
    if pretraining.span_boundary and settings.masking.strategy != "spans":
        rule = "be 'spans' where pretraining.span_boundary is true"
        raise InputError(f"masking.strategy must {rule}, got {settings.masking.strategy!r}")
    if rows.short_length is not None and rows.short_length > settings.max_length:
        raise InputError(
            f"pretraining_rows.short_length must be at most max_length={settings.max_length}, got {rows.short_length}"
        )
