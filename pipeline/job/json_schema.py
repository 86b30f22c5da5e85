"""The JSON schema of the job file, for editors: names, types, defaults and descriptions of all settings."""

import inspect
import re
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from pipeline.capabilities import JobSettings

# The draft that Taplo reads.
_DRAFT = "http://json-schema.org/draft-07/schema#"
_EXTENDS = {"type": "string", "description": "another job file, whose settings are used unless this file sets them"}
# An attribute and its description in the section `Attributes:` of a docstring from `inspect.getdoc`.
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def job_schema() -> dict[str, Any]:
    """The JSON schema of a TOML file that `pipeline.job.files.load_settings` reads.

    The schema has names, types and ranges of single settings. Rules between settings are checked when the file is read,
    so a file that is valid by the schema may still be refused.
    """
    schema = JobSettings.model_json_schema(schema_generator=_Generator)
    schema["properties"] = {"extends": _EXTENDS, **schema["properties"]}
    return {"$schema": _DRAFT, **schema, "title": "Job of keras-bert-edge"}


class _Generator(GenerateJsonSchema):
    """Takes descriptions from docstrings, and leaves out null, which TOML does not have."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Returns False: a file that extends another may leave out any setting."""
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        field = super().default_schema(schema)
        return {key: value for key, value in field.items() if key != "default" or value is not None}

    def encode_default(self, dft: Any) -> Any:
        """Encodes a default without null values."""
        value = super().encode_default(dft)
        return (
            {key: setting for key, setting in value.items() if setting is not None}
            if isinstance(value, dict)
            else value
        )

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Uses `anyOf`: a table with few keys may match several kinds, which `oneOf` would refuse."""
        return {"anyOf": super().tagged_union_schema(schema)["oneOf"]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _described(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _described(super().model_schema(schema), schema["cls"])


def _described(table: JsonSchemaValue, record: type) -> JsonSchemaValue:
    """Adds descriptions to a table and its settings, from the docstrings of its dataclass and of its base classes."""
    texts: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        _, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
        texts |= {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(attributes)}
    for name, field in table.get("properties", {}).items():
        field.pop("title", None)
        if name in texts:
            field["description"] = texts[name]
    first, _, _ = (inspect.getdoc(record) or "").partition("\n\n")
    return {**table, "description": " ".join(first.split())}
