"""What holds of data that is not valid as a whole, so that the rest of it can be checked as well."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import AliasChoices, BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

ModelT = TypeVar("ModelT", bound=BaseModel)


def held(model: type[ModelT], data: Any) -> ModelT:
    """The model of the fields that are valid by themselves, at any depth.

    The others have their defaults; a field without a default is not set. No validator of the model as a whole
    has run. Entries of lists of models keep their places.
    """
    try:
        return model.model_validate(data)
    except ValidationError:
        pass
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        key = next((key for key in _spellings(name, field) if isinstance(data, dict) and key in data), None)
        if key is not None:
            found |= _held_field(model, name, data[key])
    return model.model_construct(**found)


def _held_field(model: type[BaseModel], name: str, value: Any) -> dict[str, Any]:
    """The field as a mapping of one, empty when nothing of it holds."""
    try:
        return {name: _adapter(model, name).validate_python(value, strict=True)}
    except ValidationError:
        inner, is_list = _inner(model.model_fields[name].annotation)
    if isinstance(value, dict) and get_origin(model.model_fields[name].annotation) is dict:
        return {name: _held_entries(_adapter(model, name), value)}
    if inner is None or not isinstance(value, list if is_list else dict):
        return {}
    return {name: [held(inner, entry) for entry in value] if is_list else held(inner, value)}


def _held_entries(adapter: TypeAdapter[Any], value: dict[Any, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, entry in value.items():
        with suppress(ValidationError):
            found |= adapter.validate_python({key: entry}, strict=True)
    return found


def _spellings(name: str, field: FieldInfo) -> Iterable[str]:
    alias = field.validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]


@cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(model.model_fields[name].rebuild_annotation())


def _inner(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The one model in an annotation, and whether it is a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    found = [inner for inner in map(_inner, get_args(annotation)) if inner[0] is not None]
    if len(found) != 1:
        return None, False
    model, is_list = found[0]
    return model, is_list or get_origin(annotation) is list
