"""Problems: errors as clients see them (RFC 9457)."""

from __future__ import annotations

from pydantic import BaseModel, Field


class FieldError(BaseModel):
    """One invalid field of a request."""

    pointer: str | None = Field(
        default=None, description="JSON pointer into the body", examples=["/states/n"]
    )
    parameter: str | None = Field(default=None, description="or the name of the parameter")
    detail: str = Field(
        examples=["expected a number greater than or equal to 1"],
        description="what is wrong, or what was expected",
    )


class Problem(BaseModel):
    """What went wrong, for programs and for people (RFC 9457)."""

    type: str = Field(
        examples=["urn:plaudit:problem:invalid_value"], description="what kind of problem, as a URI"
    )
    title: str = Field(
        examples=["Invalid value"], description="the same for every problem of its kind"
    )
    status: int = Field(examples=[422], description="the HTTP status")
    detail: str = Field(
        examples=["horizon: expected a number greater than or equal to 1"],
        description="what is wrong with this request",
    )
    code: str = Field(description="for programs; it does not change", examples=["invalid_value"])
    request_id: str | None = Field(
        default=None,
        examples=["0f8b6d1c2a3e4f50"],
        description="as in `X-Request-ID` and in the log",
    )
    errors: list[FieldError] = Field(default=[], description="what is wrong with each field")
