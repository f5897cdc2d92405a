"""Try the explorer in a browser, and write docs/reports/lab/explorer.md and its pictures.

    python scripts/explorer/campaign.py [--modules FOLDER] [--chromium PATH] [--report docs/reports/lab/explorer.md]
    python scripts/explorer/campaign.py --redraw     # writes the page from the numbers beside it

Needs Node, npm and Chromium. npm installs the locked packages of `browser/` into a temporary folder; with --modules
they are taken from there. cuTile, NVRTC and tileiras are used if they are installed; the page says which were missing.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "src")]

from tilery.explorer.frontends import available  # noqa: E402  # found only now
from tilery.explorer.launching.child import JobRunner  # noqa: E402
from tilery.explorer.playground import write_playground  # noqa: E402
from tilery.explorer.protocol import Explorer, File  # noqa: E402
from tilery.explorer.server import serve  # noqa: E402

HERE = Path(__file__).parent
REPORT = ROOT / "docs" / "reports" / "lab" / "explorer.md"
PICTURES = ROOT / "docs" / "pictures" / "explorer"
OPERATIONS = 20_000
AXPY = """import cuda.tile as ct


# tilery: f32[256], f32[256], 2.0, 64
@ct.kernel
def axpy(x, y, a, T: ct.Constant[int]):
    i = ct.bid(0)
    left = ct.load(x, index=(i,), shape=(T,))
    right = ct.load(y, index=(i,), shape=(T,))
    total = a * left + right
    ct.store(y, index=(i,), tile=total)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modules", type=Path, help="node_modules with playwright-core and pyodide")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--png", type=Path, help="also keep the pictures as PNG in this folder")
    parser.add_argument("--redraw", action="store_true", help="write the page from the numbers beside it")
    args = parser.parse_args()
    numbers = args.report.with_suffix(".json")
    if not args.redraw:
        if args.chromium is None:
            raise SystemExit("there is no Chromium; name it with --chromium")
        with tempfile.TemporaryDirectory() as name:
            found = campaign(Path(name), args)
        numbers.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    found = json.loads(numbers.read_text("utf-8"))
    args.report.write_text(page(found), "utf-8")
    bad = [c for c in found["checks"] if not c["ok"]]
    for each in bad:
        print(f"failed: {each['group']}: {each['name']}: {each['detail']}")
    print(f"{len(found['checks']) - len(bad)} of {len(found['checks'])} checks passed")
    return int(bool(bad))


def campaign(work: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Start servers, drive the browser, and return what it found."""
    modules = args.modules or install(work)
    png = args.png or work / "png"
    for folder in (png, PICTURES):
        folder.mkdir(parents=True, exist_ok=True)
    cases = json.loads((ROOT / "tests" / "explorer" / "hostile.json").read_text("utf-8"))
    examples = sorted((ROOT / "src" / "tilery" / "explorer" / "examples").glob("*.mlir"))
    files = [File(path.name, path.read_bytes()) for path in examples]
    axpy, cpp = work / "axpy.py", ROOT / "tests" / "cpp" / "sources" / "views.cu"
    axpy.write_text(AXPY)
    languages = available()
    sources = [File(str(axpy), AXPY.encode()), File(str(cpp), cpp.read_bytes())]
    big = [File("big.mlir", many_operations(OPERATIONS).encode())]
    write_playground(work / "site", modules / "pyodide")
    (work / "attacker").mkdir()
    (work / "attacker" / "index.html").write_text("<!DOCTYPE html><title>another site</title><body></body>")
    config = {
        "chromium": args.chromium,
        "modules": str(modules),
        "work": str(work),
        "png": str(png),
        "pictures": str(PICTURES),
        "results": str(work / "results.json"),
        "files": [file.name for file in files],
        "local": local(files),
        "share": local([]),
        "sources": local(sources),
        "cpp": "cpp" in languages,
        "remarks": bool(Explorer(runner=JobRunner()).answer({"do": "hello"})["remarks"]),
        "looks": {name: local([]) for name in ("dark", "narrow", "narrow-dark")},
        "big": [local(big) for _ in range(3)],
        "bigScroll": local(big),
        "playground": static(work / "site", "127.0.0.1"),
        "slow": static(work / "site", "127.0.0.1", SlowFiles),
        "attacker": static(work / "attacker", "localhost"),
        "hostile": local([]),
        "cases": cases,
        "hostileExports": hostile_exports(work, cases["documents"]),
    }
    (work / "config.json").write_text(json.dumps(config))
    done = subprocess.run(["node", str(HERE / "browser.mjs"), str(work / "config.json")])
    if done.returncode:
        raise SystemExit(f"the browser's script ended with status {done.returncode}")
    found: dict[str, Any] = json.loads((work / "results.json").read_text())
    sizes = {path.name: path.stat().st_size for path in sorted((work / "site").iterdir()) if path.is_file()}
    runtime = sum(path.stat().st_size for path in (work / "site" / "pyodide").iterdir())
    found["numbers"]["processor"] = processor_seconds(big[0].data.decode())
    found["machine"] = {
        "python": platform.python_version(),
        "node": subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip(),
        "languages": languages,
        "remarks": config["remarks"],
        "tilery_zip": sizes["tilery.zip"],
        "pyodide": runtime,
        "pictures": {path.name: path.stat().st_size for path in sorted(PICTURES.glob("*.webp"))},
    }
    return found


def processor_seconds(text: str) -> dict[str, float]:
    """Return the processor time of each request about a text, in this process."""
    explorer = Explorer()
    explorer.answer({"do": "hello"})
    found = {}
    for what in ("analyse", "bytes", "pipeline", "graph", "cost"):
        before = time.process_time()
        explorer.answer({"do": what, "text": text, "function": 1, "around": 1000})
        found[what] = time.process_time() - before
    return found


def install(work: Path) -> Path:
    """Install the packages of the campaign from the lock file."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "browser" / name, work)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=work, check=True)
    return work / "node_modules"


def local(files: list[File]) -> str:
    """Start an explorer, and return the address that opens it."""
    return serve(Explorer(files, JobRunner())).url


class Files(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    rate: float | None = None
    """The bytes a second of a connection, if they are limited."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file, in pieces if the rate is limited."""
        if self.rate is None:
            return super().copyfile(source, outputfile)
        while piece := source.read(1 << 16):
            outputfile.write(piece)
            time.sleep(len(piece) / self.rate)


class SlowFiles(Files):
    """Serves files like a network of 16 Mbit/s."""

    rate = 2e6


def static(folder: Path, host: str, handler: type[Files] = Files) -> str:
    """Serve a folder, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{host}:{server.server_address[1]}/"


def many_operations(count: int) -> str:
    """Return a kernel of this many operations."""
    lines = [
        "entry @big(%p: tile<ptr<f32>>) {",
        "  %off = iota : tile<128xi32>",
        "  %b = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>",
        "  %bb = broadcast %b : tile<1xptr<f32>> -> tile<128xptr<f32>>",
        "  %q = offset %bb, %off : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>",
        "  %v0, %t = load_ptr_tko weak %q : tile<128xptr<f32>> -> tile<128xf32>, token",
    ]
    last = count - 8
    lines += [
        f"  %v{i + 1} = {'addf' if i % 2 else 'mulf'} %v{i}, %v{max(0, i - 3)} : tile<128xf32>" for i in range(last)
    ]
    lines += [f"  %t2 = store_ptr_tko weak %q, %v{last} : tile<128xptr<f32>>, tile<128xf32> -> token", "  return", "}"]
    return "\n".join(lines) + "\n"


def hostile_exports(work: Path, documents: list[dict[str, str]]) -> list[str]:
    """Export hostile documents, and return the files."""
    found = []
    for number, case in enumerate(documents):
        made = Explorer().answer({"do": "export", "text": case["text"], "name": case["text"][:300]})
        path = work / f"hostile{number}.html"
        path.write_text(made["html"], "utf-8")
        found.append(str(path))
    return found


# ---------------------------------------------------------------- the page


def page(found: dict[str, Any]) -> str:
    """Return the report as Markdown."""
    checks, numbers, machine = found["checks"], found["numbers"], found["machine"]
    passed = sum(c["ok"] for c in checks)
    hostile = [c for c in checks if c["group"] == "hostile"]
    lines = [
        "# The explorer in a browser",
        "",
        "`scripts/explorer/campaign.py` wrote this page. It drives the explorer of this checkout in Chromium "
        f"{numbers['chromium']}: {passed} of {len(checks)} checks passed.",
        "",
        "| Group | Checks | Passed |",
        "|---|---:|---:|",
    ]
    groups = list(dict.fromkeys(c["group"] for c in checks))
    for group in groups:
        members = [c for c in checks if c["group"] == group]
        lines.append(f"| {group} | {len(members)} | {sum(c['ok'] for c in members)} |")
    lines += ["", *times(numbers, machine), *hostile_section(hostile), *check_list(checks, groups), *pictures(machine)]
    missing = [name for name in ("cutile", "cpp") if name not in machine["languages"]]
    lines += [
        "## What was not measured",
        "",
        "Only Chromium was used: neither Firefox nor Safari. No kernel ran in the playground, because NumPy's wheel",
        "for Pyodide was not available. Times are of one machine that other work kept busy; they are upper bounds, not",
        "comparisons. The playground was served from this machine, so its start has no network in it.",
        *([f"These were not installed, and their checks are missing: {', '.join(missing)}."] if missing else []),
        *([] if machine["remarks"] else ["tileiras was not installed, so no remarks were shown."]),
    ]
    return "\n".join(lines) + "\n"


def times(numbers: dict[str, Any], machine: dict[str, Any]) -> list[str]:
    big, scroll, cold = numbers.get("big", []), numbers.get("scroll", {}), numbers.get("cold", {})
    lines = ["## Times", "", f"A kernel of {OPERATIONS:,} operations, opened {len(big)} times:", ""]
    lines += ["| | milliseconds after the request |", "|---|---|"]
    for key, label in (
        ("paint", "first contentful paint"),
        ("text", "the text is in the editor"),
        ("analysed", "every operation has its id"),
        ("processor", "of processor time in the page's main thread, until the text is there"),
        ("all", "of processor time in all processes of the browser, until then"),
    ):
        if all(key in t for t in big):
            lines.append(f"| {label} | {', '.join(str(round(t[key])) for t in big)} |")
    spent = ", ".join(f"{what} {seconds:.2f}" for what, seconds in numbers.get("processor", {}).items())
    lines += ["", f"Processor seconds of the requests about it: {spent}."]
    lines += [
        "",
        "Scrolling it, 120 frames of 700 pixels each:",
        "",
        "| Pane | Most rows that exist | Median frame | 95% of frames within |",
        "|---|---:|---:|---:|",
    ]
    lines += [f"| {name} | {m['rows']} | {m['median']:.0f} ms | {m['p95']:.0f} ms |" for name, m in scroll.items()]
    lines += [
        "",
        f"The playground starts cold, from {machine['pyodide'] / 1e6:.1f} MB of Pyodide and "
        f"{machine['tilery_zip'] / 1e6:.1f} MB of tilery, with a progress bar:",
        "",
        "| | seconds after the worker started |",
        "|---|---:|",
    ]
    for key, label in (
        ("python", "Python runs"),
        ("loaded", "tilery is unpacked"),
        ("ready", "the first kernel is analysed"),
    ):
        lines.append(f"| {label} | {cold.get(key, 0) / 1000:.1f} |")
    return [*lines, ""]


def hostile_section(hostile: list[dict[str, Any]]) -> list[str]:
    return [
        "## Hostile inputs",
        "",
        f"{len(hostile)} hostile inputs were opened: names, strings, locations, texts, links, exported files, and a",
        "page of another site. After each one, no script had run, no prototype had changed, the page had no element or",
        "handler that it does not make itself, no other host was asked, and the console was silent. Hosts, origins,",
        "tokens, cookies and paths are tried by `tests/explorer/test_server.py`, without a browser.",
        "",
    ]


def check_list(checks: list[dict[str, Any]], groups: list[str]) -> list[str]:
    lines = ["## Checks", ""]
    for group in groups:
        lines += [f"### {group[0].upper()}{group[1:]}", ""]
        for each in (c for c in checks if c["group"] == group):
            detail = f" ({each['detail']})" if each["detail"] else ""
            lines.append(f"- {'' if each['ok'] else '**failed** '}{each['name']}{detail}")
        lines.append("")
    return lines


def pictures(machine: dict[str, Any]) -> list[str]:
    lines = ["## Pictures", ""]
    for name in machine["pictures"]:
        stem = name.removesuffix(".webp")
        lines += [f"**{stem}**", "", f"![{stem}](../../pictures/explorer/{name})", ""]
    return lines


if __name__ == "__main__":
    sys.exit(main())
