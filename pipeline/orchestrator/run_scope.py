"""The surroundings of running steps: the store of a root, signals, and the state of a run that ends with an error."""

import contextlib
import signal
import threading
from collections.abc import Iterator

from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer, StoppedRunError
from pipeline.orchestrator.places import open_store
from pipeline.orchestrator.root import Root
from pipeline.orchestrator.store import Store


@contextlib.contextmanager
def open_root_store(place: Root) -> Iterator[Store]:
    """Opens the store of a root; if that fails, removes a root that was created for this run."""
    try:
        store = open_store(place.path)
    except InputError:
        place.remove()
        raise
    with contextlib.closing(store):
        yield store


@contextlib.contextmanager
def end_recorded(store: Store, run: int, observer: Observer, place: Root) -> Iterator[None]:
    """Records the state of a run that ends with an exception."""
    try:
        yield
    except KeyboardInterrupt:
        store.finish_run(run, "interrupted")
        observer.say("Interrupted. The same command goes on: finished steps are kept, trainings have checkpoints.")
        raise
    except StoppedRunError:
        store.finish_run(run, "partial")
        raise
    except InputError:
        store.finish_run(run, "failed")
        place.remove()
        raise
    except Exception:
        store.finish_run(run, "failed")
        raise


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous_handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)
