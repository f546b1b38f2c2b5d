"""The type of a recording is detected from its content, whatever the request calls it."""

import pytest

from app.service.episodes.media_types import MEDIA_TYPES, media_type_of

EBML = b"\x1a\x45\xdf\xa3\xa3\x42\x86\x81\x01\x42\xf7\x81\x01"


def iso(brand, *compatible):
    """The first box of an ISO media file."""
    brands = b"".join(compatible or (brand,))
    return (
        (16 + len(brands)).to_bytes(4, "big") + b"ftyp" + brand + b"\0\0\0\0" + brands + bytes(99)
    )


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(99)),
        ("image/jpeg", b"\xff\xd8\xff\xe0" + bytes(99)),
        ("image/gif", b"GIF87a" + bytes(99)),
        ("image/gif", b"GIF89a" + bytes(99)),
        ("image/webp", b"RIFF\x10\0\0\0WEBPVP8 " + bytes(99)),
        ("video/mp4", iso(b"isom", b"isom", b"iso2", b"avc1", b"mp41")),
        ("video/mp4", iso(b"mp42")),
        ("video/mp4", iso(b"iso5", b"iso5", b"dash")),  # fragmented
        ("video/mp4", iso(b"M4V ")),
        ("video/webm", EBML + b"\x42\x82\x84webm" + bytes(99)),
    ],
)
def test_a_type_that_browsers_show_is_taken(media_type, content):
    assert media_type_of(content) == media_type
    assert media_type in MEDIA_TYPES


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF",
        b"<html><script>alert(1)</script></html>",
        b"\x89PNG\n\x1a\n" + bytes(99),  # mangled by a conversion of line ends
        b"RIFF\x10\0\0\0WAVEfmt " + bytes(99),
        iso(b"qt  "),
        iso(b"avif", b"mif1", b"avif"),
        iso(b"mif1", b"mif1", b"heic"),
        iso(b"M4A ", b"M4A ", b"mp42"),  # sound alone
        EBML + b"\x42\x82\x88matroska" + b"webm" + bytes(99),
    ],
)
def test_any_other_content_is_refused(content):
    assert media_type_of(content) is None
