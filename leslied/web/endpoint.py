"""Endpoints of the JSON API: their parameters, and the functions that answer them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leslied.queries.context import QueryContext

    Arguments = Mapping[str, Any]
    Answer: TypeAlias = "Mapping[str, Any] | Content"
    AnswerFunction = Callable[[QueryContext, Arguments], Answer]

_FLAGS = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """A parameter of the query, or a field of the body of a changing request."""

    name: str
    about: str
    type: Literal["text", "integer", "flag"] = "text"
    default: str | int | bool | None = None
    choices: tuple[str, ...] = ()
    maximum: int = 1000
    """Largest integer, or the longest text in characters."""
    is_required: bool = False

    def parse(self, value: object) -> Any:
        """Return the value in its type; raise UserError if it is not valid."""
        match self.type:
            case "integer":
                return self._parse_integer(value)
            case "flag":
                return self._parse_flag(value)
        if not isinstance(value, str) or len(value) > self.maximum:
            raise self._make_error(f"a text of at most {self.maximum:,} characters")
        if self.choices and value not in self.choices:
            raise self._make_error(f"one of {', '.join(self.choices)}")
        return value

    def _parse_integer(self, value: object) -> int:
        text = str(value)
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise self._make_error("a whole number")
        if int(text) > self.maximum:
            raise self._make_error(f"at most {self.maximum:,}")
        return int(text)

    def _parse_flag(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        flag = _FLAGS.get(str(value).lower())
        if flag is None:
            raise self._make_error("true or false")
        return flag

    def _make_error(self, expected: str) -> UserError:
        return UserError(f"{self.name} must be {expected}.", "Change the address.")


@dataclass(frozen=True, slots=True)
class Content:
    """An answer that is not JSON, such as an image or a text to copy."""

    body: bytes
    media_type: str


def make_object_schema(**types: str) -> dict[str, Any]:
    """Return the JSON Schema of an object with these fields.

    A type is that of JSON Schema; `string|null` allows both.
    """
    return {
        "type": "object",
        "required": list(types),
        "properties": {name: {"type": text.split("|")} for name, text in types.items()},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A path of the API and the function that answers it."""

    path: str
    """The path below `/api`, with names of parameters in braces."""
    about: str
    answer: AnswerFunction
    """Function that answers; it runs in a thread of the backend."""
    params: tuple[Param, ...] = ()
    method: Literal["GET", "POST", "PUT", "DELETE"] = "GET"
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    """JSON Schema of `data` in the answer."""
    media_type: str = "application/json"

    def parse(
        self, path_values: Mapping[str, str], values: Mapping[str, Any]
    ) -> Arguments:
        """Return the arguments of a request; raise UserError if one is not valid."""
        params_by_name = {param.name: param for param in self.params}
        for name in values:
            if name not in params_by_name:
                names = ", ".join(params_by_name) or "no parameter"
                raise UserError(f"{name} is not a parameter.", f"Known: {names}.")
        arguments: dict[str, Any] = dict(path_values)
        for name, param in params_by_name.items():
            if name in values:
                arguments[name] = param.parse(values[name])
            elif param.is_required:
                raise UserError(f"{name} is missing.", param.about)
            else:
                arguments[name] = param.default
        return arguments
