"""Media types of recordings, detected from their first bytes."""

from __future__ import annotations

MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "video/mp4", "video/webm")
_STARTS = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
)
# Major brands of ISO media files that are images, sound or QuickTime.
_NOT_VIDEO = (b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1", b"M4A ", b"M4B ", b"qt  ")
_WEBM_DOCTYPE = b"\x42\x82\x84webm"  # the element DocType of EBML, with its length


# No library is used: `filetype` 1.2 refuses fragmented MP4 and animated PNG and checks fewer bytes
# of PNG and GIF, `puremagic` 1.30 fails on several brands of MP4.
def media_type_of(content: bytes) -> str | None:
    """Detect the media type of a file from its first bytes; None for a type that is not taken."""
    for media_type, start in _STARTS:
        if content.startswith(start):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:8] == b"ftyp" and content[8:12] not in _NOT_VIDEO:
        return "video/mp4"
    if content.startswith(b"\x1a\x45\xdf\xa3") and _WEBM_DOCTYPE in content[:64]:
        return "video/webm"
    return None
