from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.sources import docstrings
from components.sources.docstrings import (
    LIBRARIES,
    DocstringCorpus,
    Library,
    clean,
    find_sources,
    read_docstrings,
    split_of,
)

NUMPY_STYLE = """\
Return the sum of the given array elements.

The sum runs over :func:`all elements <numpy.sum>` of `x`,
and the second line belongs to it.

Parameters
----------
x : array_like
    Input array whose elements are added up.
axis : int, optional
    Axis along which the sum is made.

Examples
--------
>>> import numpy as np
>>> np.sum([1, 2])
3

After the example there is prose again::

    code = that_is_left_out(1)

References
----------
.. [1] Somebody, "A paper that nobody reads", 1970
"""

GOOGLE_STYLE = """\
Computes the mean of values.

```python
metric = Mean()
this is code that looks like prose a little
```

Args:
  name: (Optional) string name of the metric instance.
  dtype: The type of the result
    and what follows it.

See [the guide](https://example.org/guide) for more about means.
"""


def test_cleans_numpy_style():
    assert clean(NUMPY_STYLE) == [
        "Return the sum of the given array elements.",
        "The sum runs over all elements of x, and the second line belongs to it.",
        "Input array whose elements are added up.",
        "Axis along which the sum is made.",
        "After the example there is prose again::",
    ]


def test_cleans_google_style():
    assert clean(GOOGLE_STYLE) == [
        "Computes the mean of values.",
        "(Optional) string name of the metric instance.",
        "The type of the result and what follows it.",
        "See the guide for more about means.",
    ]


@given(st.text(max_size=300))
def test_paragraphs_are_single_lines(text):
    for paragraph in clean(text):
        assert "\n" not in paragraph
        assert paragraph == " ".join(paragraph.split())


def test_reads_docstrings_in_the_order_of_the_source():
    source = b'"""Module."""\nclass A:\n  """Class."""\n  def f(self):\n    """Method."""\ndef g():\n  "Function."\n'
    assert read_docstrings(source) == ["Module.", "Class.", "Method.", "Function."]


def test_reads_add_newdoc_and_survives_what_does_not_parse():
    source = b"add_newdoc('numpy', 'f', '''\n    f(x)\n\n    Text.''')\n"
    assert read_docstrings(source) == ["f(x)\n\nText."]
    assert read_docstrings(b'"""Python 2."""\nprint "x"\n') == []
    assert read_docstrings(b'"""bad \xff"""\n') == []


def test_splits_go_by_file_80_10_10():
    counts = Counter(split_of("numpy", f"folder/file_{number}.py") for number in range(10_000))
    assert {split: round(count / 10_000, 1) for split, count in counts.items()} == {
        "train": 0.8,
        "validation": 0.1,
        "test": 0.1,
    }
    assert split_of("numpy", "linalg/_linalg.py") == split_of("numpy", "linalg/_linalg.py")


def test_finds_own_sources_only(tmp_path, monkeypatch):
    for name in ("a.py", "b/c.py", "tests/d.py", "b/test_e.py", "copy/f.py", "b/g_test.py", "b/gen_ops.py", "b/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(Library, "root", lambda self: tmp_path)
    names = [name for name, _ in find_sources(Library("x", "x", "x", ("copy",)))]
    assert sorted(names) == ["a.py", "b/c.py"]


def test_libraries_are_found_without_importing_them():
    labels = [library.label for library in LIBRARIES]
    assert labels == ["apache_beam", "keras", "numpy", "python", "scipy", "tensorflow"]
    assert all(library.root().is_dir() and library.version() for library in LIBRARIES)


@pytest.fixture
def small_world(tmp_path, monkeypatch):
    """Two libraries of 60 files, each with two docstrings of its own words."""
    libraries = (Library("apple", None, None), Library("pear", None, None))
    for library in libraries:
        (tmp_path / library.label).mkdir()
        for number in range(60):
            words = [f"{library.label}{number}{'abcdefghij'[place % 10]}{'klm'[place // 10]}" for place in range(28)]
            words = ["".join(chr(97 + int(c)) if c.isdigit() else c for c in word) for word in words]
            text = f'"""{" ".join(words[:14])}."""\ndef f():\n  """{" ".join(words[14:])}."""\n'
            (tmp_path / library.label / f"m{number}.py").write_text(text)
    monkeypatch.setattr(Library, "root", lambda self: tmp_path / self.label)
    monkeypatch.setattr(docstrings, "LIBRARIES", libraries)
    return tmp_path


def test_corpus_is_of_the_training_split_and_of_the_set_size(small_world):
    everything = docstrings.harvest_documents(1.0)
    assert {split_of(*name.split("/", 1)) for name, _ in everything} == {"train"}
    some = docstrings.harvest_documents(0.01)
    sizes = Counter()
    for name, text in some:
        sizes[name.split("/")[0]] += len(text)
    assert all(4000 < size < 6000 for size in sizes.values())


def test_paragraphs_of_held_out_files_do_not_enter_the_corpus(small_world):
    held, taught = (
        next(path for name, path in find_sources(docstrings.LIBRARIES[0]) if split_of("apple", name) == split)
        for split in ("test", "train")
    )
    copied = clean(read_docstrings(held.read_bytes())[0])[0]
    taught.write_text(f'"""{copied}"""\ndef f():\n  """Here are some words of the training file itself."""\n')
    corpus = dict(docstrings.harvest_documents(1.0))
    assert corpus[f"apple/{taught.name}"] == "Here are some words of the training file itself."
    assert not any(copied in text for text in corpus.values())


def test_fingerprints_follow_the_option():
    DocstringCorpus().check()
    assert DocstringCorpus().fingerprint() == DocstringCorpus().fingerprint()
    assert DocstringCorpus(1.0).fingerprint() != DocstringCorpus().fingerprint()
