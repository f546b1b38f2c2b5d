"""Print the software bill of materials of this environment, as CycloneDX 1.5 JSON.

It needs nothing but Python, so that it also runs inside an image:
`docker run --rm -i --entrypoint python IMAGE - < .ci/sbom.py`.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from uuid import uuid4

_DEBIAN = Path("/var/lib/dpkg/status")
_PRODUCT = "plaudit"


def _python_component(package: Distribution) -> dict[str, object]:
    name = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
    licence = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
    found: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": package.version,
        "purl": f"pkg:pypi/{name}@{package.version}",
        "bom-ref": f"pkg:pypi/{name}@{package.version}",
    }
    if licence and "\n" not in licence and len(licence) < 100:
        found["licenses"] = [{"license": {"name": licence}}]
    return found


def _debian_components() -> list[dict[str, object]]:
    """The packages of the system, where it is Debian."""
    if not _DEBIAN.exists():
        return []
    found: list[dict[str, object]] = []
    for entry in _DEBIAN.read_text(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Status): (.*)$", entry, re.MULTILINE))
        if fields.get("Status", "").endswith("installed"):
            purl = f"pkg:deb/debian/{fields['Package']}@{fields['Version']}"
            found.append(
                {
                    "type": "library",
                    "name": fields["Package"],
                    "version": fields["Version"],
                    "purl": purl,
                    "bom-ref": purl,
                }
            )
    return found


def bill_of_materials() -> dict[str, object]:
    """Every installed package; the product itself is what the document is about."""
    python = {str(one["name"]): one for one in map(_python_component, distributions())}
    product = python.pop(_PRODUCT, {"type": "application", "name": _PRODUCT})
    parts = sorted(python.values(), key=lambda one: str(one["name"])) + _debian_components()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**product, "type": "application"},
        },
        "components": parts,
    }


if __name__ == "__main__":
    json.dump(bill_of_materials(), sys.stdout, indent=1)
    print()
