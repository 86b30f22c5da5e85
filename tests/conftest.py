"""How tests are spread over workers: whole modules, the longest first."""

import gc

import pytest
from xdist.scheduler import LoadScopeScheduling

# Modules that take a minute or more: begun last, they would leave all workers but one idle.
LONGEST = (
    "tests/test_end_to_end.py",
    "tests/components/test_quantize.py",
    "tests/keras_bert/export/test_bundle.py",
    "tests/keras_bert/training/test_loop.py",
    "tests/keras_bert/training/test_trainer.py",
    "tests/test_fine_tuning.py",
    "tests/test_notebooks.py",
)
# Modules that ask for the same models, which one worker makes once: what the steps make of a task, each after the
# other; and exported files.
TOGETHER = (
    tuple(f"tests/components/test_{step}.py" for step in ("quantize", "distill", "fine_tune", "evaluate")),
    tuple(f"tests/keras_bert/export/test_{module}.py" for module in ("bundle", "check", "onnx", "runtimes", "tflite")),
)


class Spread(LoadScopeScheduling):
    """Module by module, in the order of the collection; those of `TOGETHER` are one."""

    def _split_scope(self, nodeid: str) -> str:
        module: str = super()._split_scope(nodeid)
        return next((modules[0] for modules in TOGETHER if module in modules), module)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest first."""
    places = {module: place for place, module in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_collection_finish() -> None:
    """What was imported stays: to look through it for garbage again and again takes a tenth of the time."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    """See `Spread`; asked where there are several workers."""
    config.option.loadscopereorder = False
    return Spread(config, log)
