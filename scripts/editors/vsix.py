"""Package the extension for VS Code, with everything that it needs at run time.

    python scripts/editors/vsix.py [-o tilery.vsix]

Needs npm, which fetches the client library and the bundler into a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "editors" / "vscode"
FILES = ("package.json", "language-configuration.json", "README.md", "syntaxes/tileir.tmLanguage.json")
CONTENT_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json"/>
  <Default Extension="js" ContentType="application/javascript"/>
  <Default Extension="md" ContentType="text/markdown"/>
  <Default Extension="txt" ContentType="text/plain"/>
  <Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>
"""


def manifest(facts: dict[str, Any]) -> str:
    """Return the manifest of the package."""
    version, name = escape(facts["version"]), escape(facts["name"])
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="{name}" Version="{version}" Publisher="{escape(facts["publisher"])}"/>
    <DisplayName>{escape(facts["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(facts["description"])}</Description>
    <Categories>Programming Languages,Formatters,Linters</Categories>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="{escape(facts["engines"]["vscode"])}"/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def bundle() -> bytes:
    """Return the extension and the libraries that it uses as one file."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("packaging needs npm, which is not installed")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "extension.js"):
            shutil.copy(SOURCE / name, folder)
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--silent"], cwd=folder, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"npm cannot fetch the client library:\n{done.stderr[-2000:]}")
        build = ["node_modules/.bin/esbuild", "extension.js", "--bundle", "--platform=node", "--external:vscode",
                 "--minify", "--legal-comments=inline", "--outfile=out.js"]  # fmt: skip
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
        return Path(folder, "out.js").read_bytes()


def package(path: Path, code: bytes) -> None:
    """Write the package. Equal inputs give equal bytes."""
    facts = json.loads((SOURCE / "package.json").read_text("utf-8"))
    contents = {
        "extension.vsixmanifest": manifest(facts).encode(),
        "[Content_Types].xml": CONTENT_TYPES.encode(),
        "extension/extension.js": code,
        "extension/LICENSE.txt": (ROOT / "LICENSE").read_bytes(),
        **{f"extension/{name}": (SOURCE / name).read_bytes() for name in FILES},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("tilery.vsix"))
    args = parser.parse_args()
    package(args.output, bundle())
    sys.stdout.write(f"{args.output}: {args.output.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
