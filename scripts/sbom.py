"""Write the bill of materials of the wheel as CycloneDX JSON: `python scripts/sbom.py --output tilery.cdx.json`.

It lists what an installation without extras brings, which is NumPy, what each extra adds, and the JavaScript that the
wheel contains, with the versions that npm locked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "src" / "tilery" / "explorer" / "vendor"
LOCK = ROOT / "scripts" / "explorer" / "vendor" / "package-lock.json"
NAME = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)")


def requirement(text: str, scope: str, extra: str = "") -> dict[str, Any]:
    """Return a component for a requirement of pip.

    >>> requirement("numpy>=2", "required")["purl"]
    'pkg:pypi/numpy'
    """
    found = NAME.match(text)
    assert found is not None, text
    name = found[1].lower().replace("_", "-")
    facts = [{"name": "tilery:requirement", "value": text}]
    facts += [{"name": "tilery:extra", "value": extra}] if extra else []
    ref = f"pkg:pypi/{name}"
    return {"type": "library", "name": name, "purl": ref, "bom-ref": f"{ref}#{extra}" if extra else ref,
            "scope": scope, "properties": facts}  # fmt: skip


def vendored() -> list[dict[str, Any]]:
    """Return the packages that are inside `vendor.js`: those that its licence file names, as npm locked them."""
    licences = (VENDOR / "LICENSES.txt").read_text("utf-8")
    packages = json.loads(LOCK.read_text("utf-8"))["packages"]
    made = []
    for path, facts in sorted(packages.items()):
        name = path.rpartition("node_modules/")[2]
        if not name or not re.search(rf"(?<![\w/@-]){re.escape(name)}(?![\w/-])", licences):
            continue
        purl = f"pkg:npm/{name.replace('@', '%40')}@{facts['version']}"
        made.append({"type": "library", "name": name, "version": facts["version"], "purl": purl, "bom-ref": purl,
                     "scope": "required", "licenses": [{"license": {"id": facts.get("license", "MIT")}}]})  # fmt: skip
    return made


def bill() -> dict[str, Any]:
    """Return the bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    ref = f"pkg:pypi/{project['name']}@{project['version']}"
    parts = [requirement(text, "required") for text in project["dependencies"]]
    needed = [part["bom-ref"] for part in parts] + [part["bom-ref"] for part in vendored()]
    for extra, texts in project["optional-dependencies"].items():
        parts += [requirement(text, "optional", extra) for text in texts if not text.startswith("tilery[")]
    unique = {part["bom-ref"]: part for part in [*parts, *vendored()]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": project["name"],
                "version": project["version"],
                "purl": ref,
                "bom-ref": ref,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": list(unique.values()),
        "dependencies": [{"ref": ref, "dependsOn": needed}],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, help="default: stdout")
    parser.add_argument("--sha256", type=Path, metavar="FILE", help="print the checksum of a file instead")
    args = parser.parse_args()
    if args.sha256 is not None:
        print(hashlib.sha256(args.sha256.read_bytes()).hexdigest())
        return 0
    text = json.dumps(bill(), indent=2) + "\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
