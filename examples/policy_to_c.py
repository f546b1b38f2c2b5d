"""Turn a policy document into C, for plaudit_policy.h.

    curl -s "$PLAUDIT_URL/v1/agents/$AGENT/policy?mode=exploit" | python policy_to_c.py > policy.c

The kinds uniform, markov and grid fit a microcontroller. Others are refused with a reason.
"""

import json
import sys

KINDS = {"uniform": "PLAUDIT_UNIFORM", "markov": "PLAUDIT_MARKOV", "grid": "PLAUDIT_GRID"}


def flat(values):
    """The numbers of nested lists, in order."""
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        else:
            yield value


def array(kind, name, values):
    """A constant array in C. repr gives every bit of a float."""
    numbers = ", ".join(repr(value) for value in flat(values))
    return f"static const {kind} {name}[] = {{{numbers}}};\n"


def size(space):
    """How many states or actions a space has."""
    if space["kind"] == "box":
        if space.get("bins") is None:
            raise ValueError("Numbers without bins need a policy that this header does not run.")
        product = 1
        for bins in space["bins"]:
            product *= bins
        return product
    return space["n"] if space["kind"] == "discrete" else len(space["values"])


def to_c(document):
    """The C source of a policy document: arrays, and the constant `policy`."""
    inner = document["policy"]
    kind = inner["kind"]
    if kind not in KINDS:
        raise ValueError(f"Policies of the kind {kind!r} are not for C; known: {', '.join(KINDS)}.")
    if "allowed" in inner:
        raise ValueError("Random actions with limits are not for C. Ask for the mode exploit.")
    states, actions = size(document["states"]), size(document["actions"])
    if actions > 256:
        raise ValueError(f"{actions} actions do not fit one byte; at most 256 do.")
    source = '#include "plaudit_policy.h"\n\n'
    fields = {
        "kind": KINDS[kind],
        "seed": f"{document['seed']}u",
        "episode_number": f"{document['episode_number']}u",
        "horizon": document["horizon"],
        "states": states,
        "actions": actions,
    }
    if kind != "uniform":
        source += array("uint8_t", "choices", inner["actions"])
        fields["choices"] = "choices"
    if kind == "grid":
        for name in ("low", "high", "offsets"):
            source += array("int32_t", name, inner[name])
            fields[name] = name
        source += array("double", "weights", inner["weights"])
        low, high = inner["clip"]
        fields |= {"weights": "weights", "delta": repr(inner["delta"])}
        fields["clip"] = f"{{{low}, {high}}}"
    lines = "".join(f"  .{name} = {value},\n" for name, value in fields.items())
    return f"{source}\nstatic const plaudit_policy policy = {{\n{lines}}};\n"


if __name__ == "__main__":
    try:
        print(to_c(json.load(sys.stdin)), end="")
    except (ValueError, KeyError) as error:
        sys.exit(f"policy_to_c: {error}")
