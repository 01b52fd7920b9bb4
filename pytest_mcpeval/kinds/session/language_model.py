"""Language models by name, by way of pydantic-ai (extra ``model``).

``openai:gpt-5`` and the like name a model of a provider, whose key is in the environment as that provider
wants it. ``python:pkg.mod:make`` names a model object of pydantic-ai, or a function that makes one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.servers.modules import ImportProblem, imported

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MISSING_EXTRA = "pydantic-ai is not installed: pip install 'pytest-mcpeval[model]'"

PYTHON = "python:"


def language_model(name: str, directory: Path) -> Model[Any]:
    """The model of a name; ``directory`` is where ``python:`` imports from.

    Raises:
        ImportProblem: pydantic-ai is not installed, or there is no such model; the message says which.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise ImportProblem(MISSING_EXTRA) from error
    if name.startswith(PYTHON):
        return _imported_model(name.removeprefix(PYTHON), directory)
    try:
        return infer_model(name)
    except (UserError, ImportError, ValueError) as error:
        raise ImportProblem(str(error)) from error


def _imported_model(target: str, directory: Path) -> Model[Any]:
    from pydantic_ai.models import Model

    found = imported(target, directory)
    if not isinstance(found, Model) and callable(found):
        found = found()
    if not isinstance(found, Model):
        kind = type(found).__name__
        raise ImportProblem(f"expected a model of pydantic-ai or a function that makes one, found {kind}")
    return found
