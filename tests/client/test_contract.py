"""The client against the server's OpenAPI document: every operation, every field, every code."""

import dataclasses
import re
import types
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import plaudit
from plaudit import problems

ROOT = Path(__file__).parent.parent.parent

# Client class -> the schemas that it stands for, where the names differ.
STANDS_FOR = {
    "StepAnswer": ["ExplainedStepAnswer"],
    "StepResult": ["ManyStepsEntry"],
    "FieldProblem": ["FieldError"],
    "Space": ["Discrete", "Labels", "Box"],
    "Step": ["EpisodeStep"],
    "Trajectory": ["LoggedTrajectory"],
}
OWN = {
    "ExportedEpisode": "a line of text in the document",
    "ExportedLabel": "so is this",
    "Event": "so is an event",
    "WebhookMessage": "the server sends it",
}
# Fields that the document does not have, or has in another form, and why.
MORE = {("PolicyView", "etag"): "a header"}
LOOSER = {
    ("AgentView", name): "kinds of it may be added" for name in ("display", "features", "algorithm")
} | {
    ("LoggedLabel", "label"): "it is sent too",
    ("AgentView", "initial_states"): "one of several forms",
    ("PolicyView", "states"): "a space",
    ("PolicyView", "actions"): "a space",
    ("PolicyView", "generator"): "others may be added",
    ("Health", "status"): "others may be added",
    ("Space", "kind"): "others may be added",
}


@pytest.fixture(scope="module")
def document(shared_server):
    with shared_server.client() as client:
        return client.get("/openapi.json").json()


def dataclasses_of_the_client():
    found = [getattr(plaudit, name) for name in plaudit.__all__]
    return [
        kind
        for kind in found
        if dataclasses.is_dataclass(kind)
        and kind.__name__ not in OWN
        and kind is not plaudit.FieldError
    ]


def test_every_operation_is_a_method_of_both_clients(document):
    operations = {
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    }
    for client in (plaudit.Client, plaudit.AsyncClient):
        assert {name for name in operations if not hasattr(client, name)} == set()


@pytest.mark.parametrize("kind", dataclasses_of_the_client(), ids=lambda kind: kind.__name__)
def test_every_field_is_the_servers(kind, document):
    """The same names, with the same types, and required where the server requires them."""
    schemas = document["components"]["schemas"]
    stood_for = [schemas[name] for name in STANDS_FOR.get(kind.__name__, [kind.__name__])]
    fields = {}
    for schema in stood_for:
        fields |= schema["properties"]
    hints = get_type_hints(kind)
    own = {field.name for field in dataclasses.fields(kind)}
    own -= {name for name in own if (kind.__name__, name) in MORE}
    assert own == set(fields)
    if kind in (plaudit.Step, plaudit.Trajectory):  # sent, not parsed: they take more than JSON
        return
    for name, schema in fields.items():
        if (kind.__name__, name) not in LOOSER:
            expected = python_type(schema, schemas)
            if kind is plaudit.Space:  # one class for three schemas
                expected |= {type(None)}
            assert flat(hints[name]) == expected, name


def python_type(schema, schemas):
    """The types that a schema allows, as a set: lists and literals are tuples."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in ("Discrete", "Labels", "Box"):
            return {"Space"}
        if name == "FieldError":
            return {"FieldProblem"}
        target = schemas[name]
        return python_type(target, schemas) if "enum" in target else {name}
    if "anyOf" in schema or "oneOf" in schema:
        return set().union(
            *(python_type(one, schemas) for one in schema.get("anyOf") or schema["oneOf"])
        )
    if "enum" in schema:
        return {(Literal, frozenset(schema["enum"]))}
    if "const" in schema:
        return {(Literal, frozenset([schema["const"]]))}
    if schema.get("type") == "array":
        return {(list, frozenset(python_type(schema["items"], schemas)))}
    if schema.get("format") == "date-time":
        return {datetime}
    plain = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
    return {plain.get(schema.get("type"), dict)}


def flat(hint):
    """The types that a type hint allows, in the same form."""
    if get_origin(hint) in (Union, types.UnionType):
        return set().union(*(flat(one) for one in get_args(hint)))
    if get_origin(hint) is Literal:
        return {(Literal, frozenset(get_args(hint)))}
    if get_origin(hint) is list:
        return {(list, frozenset(flat(get_args(hint)[0])))}
    if get_origin(hint) is dict or hint is Any:
        return {dict}
    return {hint.__name__} if dataclasses.is_dataclass(hint) else {hint}


def test_every_problem_has_an_exception():
    """The codes of the page of problems, and no others."""
    page = (ROOT / "docs/api.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", page[page.index("## Problems") :], re.M)
    codes = {code: int(status) for status, named in rows for code in re.findall(r"`(\w+)`", named)}
    assert set(problems.APIError.codes) - {"conflict"} == set(codes)
    for code, status in codes.items():
        error = problems.problem_error({"status": status, "code": code, "detail": "why"})
        assert type(error).__name__.lower() == code.replace("_", "")
        assert isinstance(error, problems.APIError.statuses[status])
