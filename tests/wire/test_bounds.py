"""Every list, number and text of a request has a bound in the schema."""

import pytest

from app.errors import InvalidValue
from app.main import create_app
from app.settings import Settings
from app.wire.agents import NewAgent
from app.wire.episodes import NewEpisode
from app.wire.keys import NewKey
from app.wire.validation import parse

# Values of an agent's own spaces: whether they exist is checked against the agent.
OF_SPACES = (
    *("state", "states", "visited", "both", "then", "actions", "action", "step", "executed"),
    *("allowed", "answered", "fallback_action"),
)
# Finite numbers that only their relation to others bounds.
FREE_NUMBERS = ("low", "high", "probabilities", "initial_states", "first_direction", "steps")
# Ids and headers: any text is answered 404, or compared.
IDS = (
    "agent",
    "episode",
    "key",
    "webhook",
    "if-none-match",
    "last-event-id",
    "label_timeout",
    "running_timeout",
)
BOUNDS = {
    "array": [("maxItems",)],
    "integer": [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")],
    "number": [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")],
    "string": [("maxLength", "pattern", "format")],
}


class Walk:
    """Collects the unbounded parts of every request schema of a document."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]
        self.seen, self.unbounded = set(), []
        for item in document["paths"].values():
            for operation in item.values():
                for content in operation.get("requestBody", {}).get("content", {}).values():
                    self.visit(content.get("schema", {}), ("body",))
                for parameter in operation.get("parameters", []):
                    self.visit(parameter["schema"], (parameter["name"],))

    def visit(self, schema, path):
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in self.seen:
                self.seen.add(name)
                self.visit(self.schemas[name], (*path, name))
            return
        for inner in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
            self.visit(inner, path)
        for name, inner in schema.get("properties", {}).items():
            self.visit(inner, (*path, name))
        if "items" in schema:
            self.visit(schema["items"], path)
        if "enum" not in schema and "const" not in schema:
            self.check(schema, path)

    def check(self, schema, path):
        kind = schema.get("type")
        whole = kind == "array" or path[-1] not in (*OF_SPACES, *FREE_NUMBERS)
        for either in BOUNDS.get(kind, []):
            if whole and path[-1] not in IDS and not set(either) & set(schema):
                self.unbounded.append(".".join(path) + f" ({kind})")


def test_every_list_number_and_text_has_a_bound():
    assert Walk(create_app(Settings()).openapi()).unbounded == []


AGENT = {"name": "lake", "states": 3, "actions": 2, "horizon": 2}
ROOMS = {"kind": "labels", "values": ["a"] * 100_001}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"initial_states": [0] * 100_001}, "100000"),
        ({"initial_states": {"states": [0] * 100_001, "probabilities": [1.0]}}, "100000"),
        ({"display": {"kind": "names", "values": ["a"] * 100_001}}, "100000"),
        ({"states": ROOMS}, "100000"),
        ({"features": {"kind": "one_hot", "over": ["state"] * 4}}, "at most 3"),
        ({"features": {"kind": "one_hot", "over": ["state"], "steps": [0] * 100_001}}, "100000"),
        ({"algorithm": {"kind": "ucbvi", "episodes": 10**400}}, "1000000000000000000"),
        ({"algorithm": {"kind": "thompson", "prior_deviation": 5e-324}}, "1e-06|0.000001"),
        ({"name": "a\0b"}, "no NUL"),
        ({"name": "  "}, "not blank"),
    ],
)
def test_an_agent_beyond_a_bound_is_told_the_bound(changes, reason):
    with pytest.raises(InvalidValue, match=reason):
        parse(NewAgent, AGENT | changes)


def test_names_of_keys_and_episodes_are_text():
    with pytest.raises(InvalidValue, match="no NUL"):
        parse(NewKey, {"name": "a\0", "role": "viewer"})
    with pytest.raises(InvalidValue, match="no NUL"):
        parse(NewEpisode, {"external_id": "\0"})
