"""The table of routes by roles, from the guards of the code.

`python -m tests.support.access_table` writes it to docs/security.md.
"""

import re
from pathlib import Path

from fastapi.routing import iter_route_contexts

from app.main import create_app
from app.service.access.keys import Caller, Role
from app.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_TABLE = re.compile(r"(<!-- table of routes -->\n).*?(<!-- end -->)", re.DOTALL)


def guards_of(dependant):
    """The sets of roles that a route's dependencies let in."""
    for dependency in dependant.dependencies if dependant is not None else ():
        guards = getattr(dependency.call, "guards", None)
        yield from [] if guards is None else [guards]
        yield from guards_of(dependency)


def access():
    """Who may use each route: a set of roles, or None for everybody."""
    app = create_app(Settings(database_url="sqlite:///unused.db"))
    found = {}
    for route in iter_route_contexts(app.routes):
        guards = list(guards_of(getattr(route, "dependant", None)))
        roles = None
        if guards:
            callers = {role: Caller("", "", role) for role in Role}
            roles = {role for role in Role if all(callers[role].may(guard) for guard in guards)}
        for method in sorted(set(route.methods) - {"HEAD", "OPTIONS"}):
            found[f"{method} {route.path}"] = roles
    return found


def table():
    """The table as Markdown."""
    lines = ["| route | no key |" + "".join(f" {role} |" for role in Role)]
    lines.append("|---|---|" + "---|" * len(Role))
    for route, roles in sorted(access().items(), key=lambda item: item[0].split()[::-1]):
        cells = [roles is None, *(roles is None or role in roles for role in Role)]
        lines.append(f"| `{route}` |" + "".join(" yes |" if yes else " no |" for yes in cells))
    return "\n".join(lines)


def with_table(text):
    """The page with the table of now."""
    return _TABLE.sub(lambda match: f"{match[1]}\n{table()}\n\n{match[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
