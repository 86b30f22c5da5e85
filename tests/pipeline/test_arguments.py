"""What may be typed: each verb has what runs it, and an example that can be typed."""

import argparse
import shlex
from typing import Any

import pytest

from pipeline.arguments import PROGRAM, make_parser

VERBS = (
    "run",
    "compare",
    "ladder",
    "doctor",
    "shrink",
    "status",
    "why",
    "lineage",
    "diff",
    "gc",
    "report",
    "inspect",
    "describe",
    "bench",
    "predict",
)


def parser() -> argparse.ArgumentParser:
    def named(name: str) -> Any:
        return lambda *_: name

    return make_parser({verb: named(verb) for verb in VERBS})


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_of_a_verb_leads_to_what_runs_it(verb: str) -> None:
    (choices,) = [each.choices for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    example = choices[verb].epilog.removeprefix("example: ")
    program, *typed = shlex.split(example)
    assert (program, typed[0]) == (PROGRAM, verb)
    assert parser().parse_args(typed).command() == verb
