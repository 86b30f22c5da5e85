"""How tests are spread over workers, whole modules, the longest first; each test begins with the same random state."""

import gc
import random

import hypothesis
import pytest

# Modules that take a minute or more: begun last, they would leave all workers but one idle.
LONGEST = (
    "tests/test_end_to_end.py",
    "tests/components/test_quantize.py",
    "tests/components/test_compression.py",
    "tests/keras_bert/test_one_look.py",
    "tests/keras_bert/export/test_bundle.py",
    "tests/keras_bert/training/test_interruptions.py",
    "tests/keras_bert/training/test_trainer.py",
    "tests/test_docstrings.py",
    "tests/plugins/compare/test_compare.py",
    "tests/plugins/search/test_search_within_limits.py",
    "tests/test_notebooks.py",
)


# On a busy machine an example takes as long as it takes.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")


def pytest_collection_modifyitems(items):
    """Puts the longest first."""
    places = {module: place for place, module in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_collection_finish():
    """What was imported stays, and is not looked through for garbage again and again."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Seeds what Keras' initializers and dropout draw their seeds from: a test trains the same weights each time."""
    random.seed(0)


@pytest.fixture
def eager():
    """To trace takes longer than the trainings of many tests."""
    tf = pytest.importorskip("tensorflow")
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """A folder with a model and its vocabulary, see `write_checkpoint`."""
    from tests.components import tuning_job

    folder = tmp_path_factory.mktemp("checkpoint")
    tuning_job.write_checkpoint(folder)
    return folder


@pytest.fixture(scope="session")
def line(checkpoint, tmp_path_factory):
    """Task -> what the steps make of it."""
    from tests.components.tuning_job import Line

    lines = {}

    def find(task):
        if task not in lines:
            lines[task] = Line(task, checkpoint, tmp_path_factory.mktemp(task))
        return lines[task]

    return find


@pytest.fixture
def opened(monkeypatch):
    """The files of the user that are parsed, in order."""
    from components.files import text_files

    files, open_binary = [], text_files.open_binary
    monkeypatch.setattr(text_files, "open_binary", lambda file: files.append(file) or open_binary(file))
    return files


@pytest.fixture
def stand_in_accelerators(monkeypatch):
    """Registers accelerators that need no plug-in, and no others."""
    from tests.keras_bert.accelerators.stand_in import ENTRY_POINTS

    monkeypatch.setattr("keras_bert.accelerators.registry.find_plugins", lambda kind: ENTRY_POINTS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """See `Spread`; asked where there are several workers, and there alone is what makes them."""
    from tests.spread import Spread

    config.option.loadscopereorder = False
    return Spread(config, log)
