"""Counts how many threads are inside an interpreter at once."""

import threading
import time


def most_at_once(signatures, ask, threads=4):
    """Replaces the signatures of a runtime by slower ones, and asks it from several threads."""
    inside, most = [], []

    def slow(run):
        def call(**inputs):
            inside.append(None)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()
            return run(**inputs)

        return call

    signatures.update({key: slow(run) for key, run in signatures.items()})
    started = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert len(most) == threads
    return max(most)
