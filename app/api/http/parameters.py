"""Parameters that several routes take, with the words that describe them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

# The patterns only describe: an id that nobody has is 404, however it is spelled.
AgentId = Annotated[
    str,
    Path(
        description="the id of an agent",
        examples=["agt_0123456789"],
        json_schema_extra={"pattern": "^agt_[0-9a-z]{10}$"},
    ),
]
EpisodeId = Annotated[
    str,
    Path(
        description="the id of an episode",
        examples=["eps_0123456789_17"],
        json_schema_extra={"pattern": "^eps_[0-9a-z]{10}_[0-9]{1,10}$"},
    ),
]
KeyId = Annotated[str, Path(description="the id of a key", examples=["key_0123456789abcdef"])]
Limit = Annotated[int, Query(ge=1, le=500, description="how many at most")]
Cursor = Annotated[
    str | None, Query(max_length=100, description="`next` of the page before, to read on")
]
