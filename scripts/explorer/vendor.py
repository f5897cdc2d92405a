"""Bundle CodeMirror and dagre for the page of the explorer, from the locked packages of npm, byte for byte the same.

    python scripts/explorer/vendor.py            # writes src/tilery/explorer/vendor
    python scripts/explorer/vendor.py --check    # builds, and compares with what is there

Needs Node and npm. The files are `vendor.js`, `LICENSES.txt` with the licence of each package in the bundle, and
`SHA256SUMS`. Only packages under MIT, BSD or Apache licences are accepted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent / "vendor"
OUT = Path(__file__).parents[2] / "src" / "tilery" / "explorer" / "vendor"
ALLOWED = ("MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0")
OPTIONS = ("--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=ascii", "--legal-comments=none")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the files that are there, and write nothing")
    args = parser.parse_args()
    with TemporaryDirectory() as name:
        made = build(Path(name))
    if args.check:
        wrong = [name for name, data in made.items() if not (OUT / name).is_file() or (OUT / name).read_bytes() != data]
        print(f"different: {', '.join(wrong)}" if wrong else f"{len(made)} files are the same")
        return int(bool(wrong))
    OUT.mkdir(exist_ok=True)
    for name, data in made.items():
        (OUT / name).write_bytes(data)
        print(f"{len(data):9,} bytes  {name}")
    return 0


def build(folder: Path) -> dict[str, bytes]:
    """Install the locked packages into a folder, and return the files."""
    for name in ("package.json", "package-lock.json", "entry.js"):
        shutil.copy(HERE / name, folder)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
    binary = next((folder / "node_modules" / "@esbuild").glob("*/bin/esbuild"))
    run([str(binary), "entry.js", *OPTIONS, "--outfile=vendor.js"], folder)
    script = (folder / "vendor.js").read_bytes()
    if b"</script" in script.lower() or b"<!--" in script:
        raise SystemExit("the bundle could end the element that an exported file has it in")
    made = {"vendor.js": script, "LICENSES.txt": licences(folder).encode()}
    sums = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(made.items()))
    return {**made, "SHA256SUMS": sums.encode()}


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def licences(folder: Path) -> str:
    """Return the licence texts of all packages but those that only build the bundle."""
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    packages = sorted(key.removeprefix("node_modules/") for key, row in locked.items() if key and not row.get("dev"))
    parts = ["The file vendor.js contains these packages. Each is under the licence that follows its name.\n"]
    for package in packages:
        root = folder / "node_modules" / package
        facts = json.loads((root / "package.json").read_text())
        if facts["license"] not in ALLOWED:
            raise SystemExit(f"{package} is under {facts['license']}, which is not accepted")
        text = next(path for path in sorted(root.iterdir()) if path.name.upper().startswith("LICEN")).read_text()
        parts.append(f"{'-' * 80}\n{package} {facts['version']} ({facts['license']})\n\n{text.strip()}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
