"""How tests are spread over workers: whole modules, the longest first."""

import pytest
from xdist.scheduler import LoadScopeScheduling

# Modules that take a minute or more: begun last, they would leave all workers but one idle.
LONGEST = (
    "tests/test_end_to_end.py",
    "tests/components/test_quantize.py",
    "tests/keras_bert/training/test_loop.py",
    "tests/keras_bert/training/test_trainer.py",
    "tests/test_fine_tuning.py",
    "tests/test_notebooks.py",
)
# They ask for what the steps make of a task, each after the other: whoever has made it asks all of it.
ONE_LINE = tuple(f"tests/components/test_{step}.py" for step in ("quantize", "distill", "fine_tune", "evaluate"))


class Spread(LoadScopeScheduling):
    """Module by module, in the order of the collection; modules of `ONE_LINE` are one."""

    def _split_scope(self, nodeid: str) -> str:
        module: str = super()._split_scope(nodeid)
        return ONE_LINE[0] if module in ONE_LINE else module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest first."""
    places = {module: place for place, module in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    """See `Spread`; asked where there are several workers."""
    config.option.loadscopereorder = False
    return Spread(config, log)
