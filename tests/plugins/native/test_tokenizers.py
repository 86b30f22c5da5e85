"""The tokenizers in C++, against the library's."""

import subprocess
import unicodedata

import pytest

from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.clients.fuzz import MPNET, check_program
from tests.clients.subword_fuzz import FAMILIES, check_subwords
from tests.plugins.native.build import SANITIZERS, compile_program

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp("cut"), "cut.cpp", flags=("-O1", *SANITIZERS))


@pytest.mark.parametrize(("lowercase", "special"), [(True, SPECIAL_TOKENS), (False, SPECIAL_TOKENS), (False, MPNET)])
def test_strings_are_cut_as_here(lowercase, special, cut, tmp_path):
    check_program([str(cut)], lowercase, tmp_path, special)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_split_as_here(family, cut, tmp_path):
    check_subwords([str(cut)], family, tmp_path)


def test_marks_are_those_of_unicode(tmp_path):
    program = compile_program(tmp_path, "marks.cpp")
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    marks = set(map(int, printed.split()))
    # Python may know an older version of Unicode, in which code points of the header's are not assigned.
    categories = {code: unicodedata.category(chr(code)) for code in range(0x110000)}
    assert {code for code in marks if categories[code] != "Cn"} == {
        code for code, category in categories.items() if category.startswith("M")
    }
