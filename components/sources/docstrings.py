"""English that every environment holds: the docstrings of the installed libraries, read without importing them."""

import ast
import dataclasses
import importlib.metadata
import importlib.util
import platform
import re
import sysconfig
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import pydantic

from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.sources.shared import digest, stable_hash
from components.sources.text import Document
from keras_bert.core.validation import validated_dataclass


@dataclasses.dataclass(frozen=True)
class Library:
    """The place of a library, and the parts of it that are not its own text.

    Attributes:
        package: the top-level package, None for the standard library.
        distribution: whose version stands for the content.
        excluded: folders, relative to the package, that are copies, generated or aliases.
    """

    label: str
    package: str | None
    distribution: str | None
    excluded: tuple[str, ...] = ()

    def version(self) -> str:
        """The installed version."""
        if self.distribution is None:
            return platform.python_version()
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            raise InputError(f"the docstring source needs {self.distribution}, which is not installed") from None

    def root(self) -> Path:
        """The folder of its sources."""
        if self.package is None:
            return Path(sysconfig.get_path("stdlib"))
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise InputError(f"the docstring source needs the package {self.package}, which is not installed")
        return Path(spec.submodule_search_locations[0])


LIBRARIES = (
    Library("apache_beam", "apache_beam", "apache-beam", ("io/gcp/internal/clients", "portability/api")),
    Library("keras", "keras", "keras", ("_tf_keras",)),
    Library("numpy", "numpy", "numpy", ("distutils", "f2py")),
    Library("python", None, None, ("site-packages", "dist-packages", "idlelib", "lib2to3", "ensurepip", "pydoc_data")),
    Library("scipy", "scipy", "scipy", ("_external", "_lib/array_api_compat", "_lib/array_api_extra")),
    # tensorflow/python/keras is an old copy of keras; gen_*.py and _api repeat the text of other files.
    Library("tensorflow", "tensorflow", "tensorflow", ("_api", "python/keras", "python/tf_keras")),
)

_SKIPPED_FOLDERS = {"tests", "test", "testing", "_vendor", "vendor", "vendored", "third_party", "__pycache__"}
_SKIPPED_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|[^/]*_pb2[^/]*|gen_[^/]*|conftest)\.py$")


def split_of(label: str, relative_path: str) -> str:
    """`train`, `validation` or `test`, 80/10/10 by the hash of the source file, so that no file is in two of them."""
    return {0: "test", 1: "validation"}.get(stable_hash(label, relative_path) % 10, "train")


def find_sources(library: Library) -> list[tuple[str, Path]]:
    """The library's own source files as (path relative to its root, path), in the order of a hash of the former."""
    root = library.root()
    files = []
    for path in root.rglob("*.py"):
        relative = path.relative_to(root).as_posix()
        folders = relative.split("/")[:-1]
        excluded = any(f"{relative}/".startswith(f"{folder}/") for folder in library.excluded)
        if not excluded and not _SKIPPED_FOLDERS.intersection(folders) and not _SKIPPED_FILE.search(relative):
            files.append((relative, path))
    return sorted(files, key=lambda item: (stable_hash("order", library.label, item[0]), item[0]))


def read_docstrings(source: bytes) -> list[str]:
    """The docstrings of a module, its classes and functions, and those that it attaches with `add_newdoc`.

    Source that this Python cannot parse has none.
    """
    if b'"""' not in source and b"'''" not in source:
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    return [text for node in _statements(tree) for text in _texts_of(node)]


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """A tree's statements in the order of the source; expressions hold no docstrings and are not entered."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler):
            yield from _statements(child)


def _texts_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text:
            yield text
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        # NumPy keeps the documentation of what it writes in C in calls of add_newdoc.
        call = node.value
        if isinstance(call.func, ast.Name) and call.func.id.startswith("add_newdoc"):
            for constant in (inner for argument in call.args for inner in ast.walk(argument)):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str) and "\n" in constant.value:
                    yield cleandoc(constant.value)


_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
_PROMPT = re.compile(r"^ *>>>")
_UNDERLINE = re.compile(r"^\s*([-=~^*#\"'`+])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"^ *(\.\. |:[\w ]+: *$|@\w+)")
_BULLET = re.compile(r"^ *(?:[-*+•]|\d+[.)]) +")
_NUMPY_PARAMETER = re.compile(r"^ *[\w*`'\"., ]+ : .*$")
_NAMED_ITEM = re.compile(r"^ *(?::\w+(?: [\w.*\[\]]+)?:|(?:[*`]{0,2}\w+[*`]{0,2})(?: \([^)]*\))?:) +")
_SECTION = re.compile(r"^ *(Args|Arguments|Returns|Yields|Raises|Examples?|Usage|Attributes|References|Notes?): *$")
_ROLE = re.compile(r":[\w:]+:`~?([^`<]*?)(?: *<[^`>]*>)?`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)|https?://\S+")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z][a-z]*(?:['-][A-Za-z][a-z]*)*")
_PROSE_SHARE = 0.7
_FEWEST_WORDS = 4


def clean(docstring: str) -> list[str]:
    """The paragraphs of prose in a docstring, each on one line; code, tables, headings and references are left out."""
    prose = []
    lines: list[str] = []
    in_prompt = False
    for line in _FENCED.sub("", docstring).split("\n"):
        in_prompt = bool(_PROMPT.match(line)) or (in_prompt and bool(line.strip()))
        if _UNDERLINE.match(line) and lines:
            lines[-1] = ""
        lines.append("" if in_prompt or _UNDERLINE.match(line) or _SECTION.match(line) else line.rstrip())
    for paragraph in _join_lines(lines):
        text = _LINK.sub(lambda match: match.group(1) or "", _ROLE.sub(r"\1", paragraph))
        text = _SPACE.sub(" ", text.replace("`", "").replace("**", "")).strip()
        words = text.split()
        plain = sum(1 for word in words if _WORD.fullmatch(word.strip(".,;:!?()\"'")))
        # Most tokens between spaces are plain words.
        if len(words) >= _FEWEST_WORDS and plain >= _PROSE_SHARE * len(words):
            prose.append(text)
    return prose


def _join_lines(lines: list[str]) -> Iterator[str]:
    """Lines -> paragraphs; an item of a list or of a parameter list is a paragraph of its own."""
    current: list[str] = []
    literal_indent: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if literal_indent is not None and line.strip() and indent <= literal_indent:
            literal_indent = None
        starts = not line.strip() or _BULLET.match(line) or _NAMED_ITEM.match(line) or _NUMPY_PARAMETER.match(line)
        if starts and current:
            yield " ".join(current)
            current = []
        if _DIRECTIVE.match(line) or (current and current[-1].endswith("::")) or line.endswith("::"):
            literal_indent = indent if literal_indent is None else literal_indent
        if literal_indent is not None and (indent > literal_indent or _DIRECTIVE.match(line)):
            continue
        if line.strip() and not _NUMPY_PARAMETER.match(line):
            current.append(_NAMED_ITEM.sub("", _BULLET.sub("", line)).strip())
    if current:
        yield " ".join(current)


def harvest_documents(megabytes: float) -> list[tuple[str, str]]:
    """The train-split part of every library as (name, text) documents, one a source file, one paragraph a line.

    Each library has the same share of `megabytes`; what a small one leaves goes to the larger ones. A
    paragraph that came before, or that a file of another split holds too, is left out.
    """
    sources = {library: find_sources(library) for library in LIBRARIES}
    report_progress(0, len(LIBRARIES) + 1, "reading held-out files")
    # All paragraphs of validation and test, so that no copy of one elsewhere comes into the corpus.
    seen = {
        paragraph
        for library, files in sources.items()
        for relative, path in files
        if split_of(library.label, relative) != "train"
        for docstring in read_docstrings(path.read_bytes())
        for paragraph in clean(docstring)
    }
    documents: list[tuple[str, str]] = []
    left = int(megabytes * 1e6)
    smallest_first = sorted(sources, key=lambda library: sum(path.stat().st_size for _, path in sources[library]))
    for index, library in enumerate(smallest_first):
        report_progress(index + 1, len(LIBRARIES) + 1, f"reading {library.label}")
        budget = left // (len(LIBRARIES) - index)
        taken = 0
        for relative, path in sources[library]:
            if taken >= budget:
                break
            if split_of(library.label, relative) == "train":
                docstrings = read_docstrings(path.read_bytes())
                paragraphs = dict.fromkeys(paragraph for docstring in docstrings for paragraph in clean(docstring))
                fresh = [paragraph for paragraph in paragraphs if paragraph not in seen]
                seen.update(fresh)
                if text := "\n".join(fresh):
                    documents.append((f"{library.label}/{relative}", text))
                    taken += len(text.encode())
        left -= taken
    return documents


@validated_dataclass(kw_only=False)
class DocstringCorpus:
    """The docstrings of numpy, scipy, tensorflow, keras, apache_beam and the standard library, as installed here.

    Attributes:
        megabytes: maximum amount of text in megabytes, above 0.
    """

    megabytes: pydantic.PositiveFloat = 6.0

    def check(self) -> None:
        """Raises InputError unless all six libraries are installed."""
        self.fingerprint()

    def fingerprint(self) -> str:
        """The digest of the size and of the libraries' versions."""
        return digest([("megabytes", str(self.megabytes)), *library_versions().items()])

    def digests(self) -> dict[str, str]:
        """The libraries with their versions."""
        return library_versions()

    def files(self) -> list[str]:
        """Returns a single name: the libraries share the limit of megabytes, so they are read together."""
        return ["docstrings"]

    def documents(self, _: str) -> Iterator[Document]:
        """Yields a document for each source file in the training split of the built-in tasks."""
        return (Document(name, None, text) for name, text in harvest_documents(self.megabytes))

    def size(self, _: str) -> int:
        """Returns 0: the text cannot be split among processes, as one of them reads all of it."""
        return 0


def library_versions() -> dict[str, str]:
    """Returns the versions of the libraries, which the docstrings depend on."""
    return {library.label: library.version() for library in LIBRARIES}
