"""Treebanks are read from files of any system."""

from plugins.explain.treebanks import read_conllu
from tests.keras_bert.data.test_conllu import ROWS


def test_tags_of_a_column_are_read(tmp_path):
    file = tmp_path / "a.conllu"
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(ROWS).encode())
    assert [sentence.tags for sentence in read_conllu(file, "deprel")] == [("root", "obj", "obl"), ("_",)]
    assert [sentence.tags for sentence in read_conllu(file, tag="xpos")] == [("V", "P", "N"), ("N",)]
