"""Which tests go to the same worker."""

from xdist.scheduler import LoadScopeScheduling

# Modules that ask for the same models, which one worker makes once: what the steps make of a task, each after the
# other; and exported files.
TOGETHER = (
    (
        *(
            f"tests/components/test_{step}.py"
            for step in (
                *("quantize", "distill", "fine_tune", "evaluate", "prune"),
                *("label_with_teacher", "distill_general", "teacher_answers"),
            )
        ),
        *(
            "tests/plugins/explain/test_explain_models.py",
            "tests/plugins/few_shot/test_fit_head.py",
            "tests/plugins/label_errors/test_score_held_out.py",
        ),
        *(f"tests/plugins/search/test_{step}.py" for step in ("measure_distillation", "measure_footprint", "validate")),
    ),
    tuple(
        f"tests/keras_bert/export/{module}.py"
        for module in (
            *("test_bundle", "test_attachments", "test_check", "test_onnx", "test_runtimes", "test_tflite"),
            "rules/test_lite",
        )
    ),
)


class Spread(LoadScopeScheduling):
    """Module by module, in the order of the collection; those of `TOGETHER` are one."""

    def _split_scope(self, nodeid):
        module = super()._split_scope(nodeid)
        return next((modules[0] for modules in TOGETHER if module in modules), module)
