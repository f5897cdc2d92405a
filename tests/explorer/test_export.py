"""Exported files and the playground: whatever a kernel says stays data; the files are those that were bundled."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import zipfile
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from support.command import run
from tilery.diag import TileError
from tilery.explorer import Explorer
from tilery.explorer.assets import HERE, SCRIPTS, STYLE, VENDOR, asset
from tilery.explorer.export import as_data
from tilery.explorer.playground import RUNTIME, _package, write_playground

from .requests import example

HOSTILE: dict[str, Any] = json.loads(Path(__file__).with_name("hostile.json").read_text("utf-8"))


class Elements(HTMLParser):
    """The elements of a page as a browser finds them: a script ends at the first `</script`."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        at = len(self.tags) - 1
        self.texts[at] = self.texts.get(at, "") + data


def exported(text: str, **fields: Any) -> tuple[str, Elements, dict[str, Any]]:
    made = Explorer().answer({"do": "export", "text": text, **fields})
    assert made["ok"], made
    page = Elements(made["html"])
    at = next(i for i, (_, attrs) in enumerate(page.tags) if attrs.get("id") == "exported")
    return made["html"], page, json.loads(page.texts[at])


def test_an_exported_page_has_every_response() -> None:
    text = example("add")
    _, _, data = exported(text, name="add.mlir", passes="canonicalize", gpu="H200", grid=[4])
    explorer = Explorer()
    assert data["responses"]["analyse"] == explorer.answer({"do": "analyse", "text": text})
    assert data["responses"]["bytes"] == explorer.answer({"do": "bytes", "text": text})
    assert data["responses"]["pipeline"] == explorer.answer({"do": "pipeline", "text": text, "passes": "canonicalize"})
    assert data["graphs"]["1"] == explorer.answer({"do": "graph", "text": text, "function": 1, "around": 2})
    assert data["responses"]["cost"]["gpu"] == "H200" and data["responses"]["run"] is None


def test_only_known_scripts_may_run() -> None:
    html, page, _ = exported(example("add"))
    policy = next(attrs["content"] or "" for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert "unsafe" not in policy and "http" not in policy
    scripts = [page.texts[i] for i, (tag, attrs) in enumerate(page.tags) if tag == "script" and not attrs.get("type")]
    texts = [asset(name).decode() for name in (VENDOR, *SCRIPTS)]
    assert [script.rstrip() for script in scripts] == [text.rstrip() for text in texts]
    for text in [*texts, asset(STYLE).decode()]:
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256-") == len(scripts) + 1
    assert "src=" not in html.partition("<script")[0] and not any("src" in a for _, a in page.tags)
    assert all((a["href"] or "").startswith("data:") for _, a in page.tags if "href" in a)


@pytest.mark.parametrize("case", HOSTILE["documents"], ids=lambda case: case["name"])
def test_hostile_documents_stay_data(case: dict[str, str]) -> None:
    """The page has the same elements as that of a harmless kernel, and the data comes back as it was."""
    _, harmless, _ = exported("entry @k() { return }")
    _, page, data = exported(
        case["text"], name=case["text"][:500], sources=[{"name": case["text"], "text": case["text"]}]
    )
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in harmless.tags]
    assert data["text"] == case["text"] and data["sources"][0]["text"] == case["text"]


def test_data_cannot_end_its_element() -> None:
    for text in ("</script>", "<!--<script>", "]]>", "\u2028", "&lt;", "\x00", "\ud800"):
        made = as_data({text: text})
        assert (
            "<" not in made
            and ">" not in made
            and "&" not in made
            and made.isascii()
            and json.loads(made) == {text: text}
        )


def test_the_command_exports(tmp_path: Path) -> None:
    source, out = tmp_path / "k.mlir", tmp_path / "k.html"
    source.write_text(example("sum"))
    done = run("explore", str(source), "--export", str(out))
    assert done.returncode == 0 and out.stat().st_size > 500_000
    broken = tmp_path / "broken.tileirbc"
    broken.write_bytes(b"\x7fTileIR\x00\x0d\x01")
    done = run("explore", str(broken), "--export", str(out))
    assert done.returncode == 1 and b"error" in done.stderr
    assert run("explore", "--export", str(out)).returncode == 2
    assert run("explore", "--port", "99999").returncode == 2
    assert run("explore", "--playground", str(tmp_path / "x")).returncode == 2


def test_scripts_can_be_inside_a_page() -> None:
    for name in (VENDOR, *SCRIPTS):
        text = asset(name).decode().lower()
        assert "</script" not in text and "<!--" not in text, name


def test_the_page_never_parses_text_as_html() -> None:
    words = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "javascript:")
    styles = ("createContextualFragment", 'setAttribute("style')
    for name in (*SCRIPTS, "worker.js", "playground.js"):
        assert not [word for word in (*words, *styles) if word in asset(name).decode()], name


def test_the_bundle_is_the_one_that_was_checked() -> None:
    folder = HERE / "vendor"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert sha256((folder / name).read_bytes()).hexdigest() == digest
    assert {p.name for p in folder.iterdir()} == {"vendor.js", "LICENSES.txt", "SHA256SUMS"}
    names = re.findall(r"^(\S+) \S+ \((.*)\)$", (folder / "LICENSES.txt").read_text(), re.MULTILINE)
    assert len(names) > 15 and {licence for _, licence in names} <= {
        "MIT",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "Apache-2.0",
    }


def test_the_lock_file_pins_everything_without_addresses() -> None:
    folder = HERE.parents[2] / "scripts" / "explorer"
    for lock in sorted(folder.glob("*/package-lock.json")):
        packages = json.loads(lock.read_text())["packages"]
        assert "http" not in "".join(str(p.get("resolved", "")) for p in packages.values())
        assert all(p.get("integrity", "").startswith("sha512-") for key, p in packages.items() if key)


def test_the_report_follows_from_the_numbers() -> None:
    root = HERE.parents[2]
    page = runpy.run_path(str(root / "scripts" / "explorer" / "campaign.py"))["page"]
    report = root / "docs" / "reports" / "lab" / "explorer.md"
    numbers = json.loads(report.with_suffix(".json").read_text("utf-8"))
    assert report.read_text("utf-8") == page(numbers)
    assert all(check["ok"] for check in numbers["checks"])
    pictures = root / "docs" / "pictures" / "explorer"
    assert {path.name for path in pictures.iterdir()} == set(numbers["machine"]["pictures"])
    assert all(path.stat().st_size < 150_000 for path in pictures.iterdir())


def fake_pyodide(folder: Path) -> Path:
    folder.mkdir()
    for name in RUNTIME:
        (folder / name).write_bytes(name.encode())
    return folder


def test_the_playground_is_a_folder_of_static_files(tmp_path: Path) -> None:
    sizes = write_playground(tmp_path / "site", fake_pyodide(tmp_path / "pyodide"))
    page = Elements((tmp_path / "site" / "index.html").read_text())
    loaded = [
        attrs.get("src") or attrs.get("href") or ""
        for _, attrs in page.tags
        if "src" in attrs or attrs.get("rel") == "stylesheet"
    ]
    assert loaded and all(name.startswith("./") and name[2:] in sizes for name in loaded)
    policy = next(attrs["content"] or "" for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert "'unsafe-inline'" not in policy and "'unsafe-eval'" not in policy and "http" not in policy
    manifest = json.loads((tmp_path / "site" / "manifest.json").read_text())
    assert manifest["numpy"] is False and all(sizes[name] == size for name, size in manifest["sizes"].items())
    with zipfile.ZipFile(tmp_path / "site" / "tilery.zip") as archive:
        names = archive.namelist()
    assert "tilery/explorer/protocol.py" in names and not any(
        "__pycache__" in name or "engines/cpu/" in name for name in names
    )


def test_the_playground_needs_pyodide(tmp_path: Path) -> None:
    with pytest.raises(TileError, match="is not Pyodide"):
        write_playground(tmp_path / "site", tmp_path)


WITHOUT_NUMPY = """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["numpy"] = None
from tilery.explorer.protocol import Explorer
explorer = Explorer()
for what in ("analyse", "bytes"):
    print(explorer.answer({"do": what, "text": "entry @k() { return }"})["ok"])
"""


def test_the_package_of_the_playground_needs_no_numpy(tmp_path: Path) -> None:
    package = tmp_path / "tilery.zip"
    package.write_bytes(_package())
    done = subprocess.run([sys.executable, "-I", "-S", "-c", WITHOUT_NUMPY, package], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["True"] * 2, "")
