"""The OpenAPI description of the JSON API, derived from its endpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.web.endpoint import Endpoint, Param

_TYPES = {"text": "string", "integer": "integer", "flag": "boolean"}


def make_openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the description of all endpoints."""
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        operations = paths.setdefault(f"/api{endpoint.path}", {})
        operations[endpoint.method.lower()] = _describe(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "leslied", "version": __version__},
        "paths": paths,
    }


def _describe(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)", endpoint.path)
    ]
    operation: dict[str, Any] = {"summary": endpoint.about, "parameters": parameters}
    if endpoint.method == "GET":
        parameters += map(_describe_parameter, endpoint.params)
    else:
        operation["requestBody"] = _describe_body(endpoint.params)
    operation["responses"] = {
        "200": {"description": "the answer", "content": _describe_answer(endpoint)},
        "400": {"description": "a parameter is not valid"},
    }
    return operation


def _describe_parameter(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "in": "query",
        "required": param.is_required,
        "description": param.about,
        "schema": _make_schema(param),
    }


def _describe_body(params: Iterable[Param]) -> dict[str, Any]:
    params = list(params)
    schema = {
        "type": "object",
        "properties": {param.name: _make_schema(param) for param in params},
        "required": [param.name for param in params if param.is_required],
        "additionalProperties": False,
    }
    return {"content": {"application/json": {"schema": schema}}}


def _make_schema(param: Param) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[param.type]}
    if param.choices:
        schema["enum"] = list(param.choices)
    elif param.type == "text":
        schema["maxLength"] = param.maximum
    elif param.type == "integer":
        schema |= {"minimum": 0, "maximum": param.maximum}
    if param.default is not None:
        schema["default"] = param.default
    return schema


def _describe_answer(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.media_type != "application/json":
        return {endpoint.media_type: {"schema": {"type": "string"}}}
    schema = {
        "type": "object",
        "required": ["success", "data", "warnings", "error"],
        "properties": {
            "success": {"type": "boolean"},
            "data": endpoint.schema,
            "warnings": {"type": "array", "items": {"type": "string"}},
            "error": {"type": ["object", "null"]},
        },
    }
    return {"application/json": {"schema": schema}}
