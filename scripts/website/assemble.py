"""Assemble the source of the site: the documents with their links rewritten, a page per operation, and the API."""

from __future__ import annotations

import os
import re
import shutil
from importlib import import_module
from inspect import isclass, isfunction, ismodule
from pathlib import Path

from tilery.declare.operation import OpDef
from tilery.manual.describe import groups
from tilery.manual.markdown import slug
from tilery.manual.operations import operation
from tilery.manual.pictures import operation_svg
from website.flowchart import draw

ROOT = Path(__file__).parents[2]
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Documents at the root of the repository, which are in the folder `project` of the site."""
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^)#\s]*)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^```mermaid\n(.*?)^```$", re.M | re.S)
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
API = {
    "tilery": "The package",
    "tilery.builder": "Build kernels",
    "tilery.ir": "Operations, blocks, values",
    "tilery.types": "Types",
    "tilery.attrs": "Attributes and locations",
    "tilery.diag": "Errors",
    "tilery.rewrite": "Rules and edits",
    "tilery.passes": "Passes",
    "tilery.engines.common.kernel": "Kernels and engines",
    "tilery.engines.common.limits": "Limits and statistics",
    "tilery.engines.recorded": "Recorded launches",
    "tilery.sanitize": "The sanitizer",
    "tilery.observe": "Traces and pictures",
    "tilery.debug": "The debugger",
    "tilery.cost": "Costs and rooflines",
    "tilery.tuner": "The tuner",
    "tilery.reducer": "The reducer",
    "tilery.prove": "Proofs",
    "tilery.judge": "The judge",
    "tilery.cutile": "cuTile programs",
    "tilery.triton": "Triton programs",
    "tilery.cpp": "CUDA Tile C++",
    "tilery.source": "Source lines",
    "tilery.smith": "Random modules",
    "tilery.explorer.notebook": "The explorer in a notebook",
}
"""Modules with a page of the API, and their titles. A page lists `__all__`, or what the module defines."""


def assemble(target: Path) -> None:
    """Write the source of the site into a folder, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    chapters = groups()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.relative_to(ROOT / "docs").parts[:2] != ("reference", "operations"):
            _write(path, target, chapters)
    for name in PROJECT:
        _write(ROOT / name, target, chapters)
    _operations(target / "reference" / "operations", chapters)
    _api(target / "api")
    _contents(target)
    shutil.copytree(Path(__file__).parent / "theme", target, dirs_exist_ok=True)


CONTENTS = {
    "Start": ["quickstart", "tour/index", "features", "commands"],
    "Guides": ["guides/*"],
    "Reference": [
        "reference/operations/index", "api/index", "reference/*", "reference/*/index", "bytecode", "verifier",
        "memory-model", "deviations", "gpu-differences", "stability", "appendix/*",
    ],
    "Measurements": ["conformance", "reports/*"],
    "Laboratory": ["reports/lab/*", "reports/lab/compiler_bugs/*"],
    "Project": ["project/*"],
}  # fmt: skip
"""The navigation: titles, and pages in their order."""


def _contents(target: Path) -> None:
    """Add the navigation to the first page. A folder with an index of its own has its pages below that."""
    pages = {
        p.relative_to(target).with_suffix("") for p in target.rglob("*.md") if p.relative_to(target).parts[0] != "files"
    }
    inner = {p.parent: {q.stem for q in pages if q.parent == p.parent and q != p} for p in pages if p.name == "index"}
    seen = {Path("index")}
    for folder, names in inner.items():
        index = target / folder / "index.md"
        if folder != Path(".") and "```{toctree}" not in index.read_text("utf-8"):
            _append(index, ["```{toctree}", ":hidden:", "", *sorted(names), "```"])
        if folder != Path("."):
            seen.update(folder / name for name in names)
    for title, patterns in CONTENTS.items():
        listed = [p.relative_to(target).with_suffix("") for each in patterns for p in sorted(target.glob(f"{each}.md"))]
        chosen = [name for name in dict.fromkeys(listed) if name not in seen]
        seen.update(chosen)
        if title == "Project":  # pages of folders that the table does not know yet
            chosen += sorted(pages - seen)
        _append(target / "index.md", ["```{toctree}", ":hidden:", f":caption: {title}", "", *map(str, chosen), "```"])


def _append(path: Path, lines: list[str]) -> None:
    path.write_text(path.read_text("utf-8") + "\n".join(["", *lines, ""]), "utf-8")


def site_path(path: Path) -> Path:
    """Return where a file of the repository is in the source of the site."""
    inside = path.relative_to(ROOT)
    if inside.parts[0] == "docs":
        return inside.relative_to("docs")
    if inside.name == "README.md" and len(inside.parts) == 1:
        return Path("index.md")
    if str(inside) in PROJECT:
        return Path("project") / inside
    plain = inside.with_suffix(".txt") if inside.suffix == ".md" else inside  # Markdown would be a page
    return Path("files") / plain


def _write(path: Path, target: Path, chapters: dict[str, list[OpDef]]) -> None:
    out = target / site_path(path)
    out.parent.mkdir(parents=True, exist_ok=True)
    pages = {
        f"docs/reference/operations/{slug(group)}.md": {d.mnemonic for d in ops} for group, ops in chapters.items()
    }

    def moved(link: re.Match[str]) -> str:
        before, name, anchor, after = link[1], link[2], link[3] or "", link[4]
        if not name or "://" in name or name.startswith("mailto:"):
            return link[0]
        found = Path(os.path.normpath(path.parent / name))
        if not found.exists():
            return link[0]
        mnemonics = pages.get(str(found.relative_to(ROOT)))
        if mnemonics is not None and anchor[1:] in mnemonics:
            found, anchor = found.with_name(f"{anchor[1:]}.md"), ""
        to = site_path(found)
        if found.is_dir():
            to = Path("files") / found.relative_to(ROOT) / "index.txt"
            _listing(found, target / to)
        elif to.suffix != ".md":
            (target / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, target / to)
        return f"{before}{os.path.relpath(to, site_path(path).parent)}{anchor}{after}"

    out.write_text(_charts(_outside_code(path.read_text("utf-8"), moved), out), "utf-8")


def _listing(folder: Path, out: Path) -> None:
    """Write the names of the files of a folder, which a page links to."""
    out.parent.mkdir(parents=True, exist_ok=True)
    names = sorted(str(p.relative_to(ROOT)) for p in folder.rglob("*") if p.is_file() and "node_modules" not in p.parts)
    out.write_text("\n".join(names) + "\n", "utf-8")


def _outside_code(text: str, moved: object) -> str:
    """Rewrite the links of a document, but not what looks like a link in code."""
    assert callable(moved)
    out, end = [], 0
    for block in CODE.finditer(text):
        out += [LINK.sub(moved, text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*out, LINK.sub(moved, text[end:])])


def _charts(text: str, out: Path) -> str:
    """Replace flow charts by pictures."""
    count = 0

    def drawn(block: re.Match[str]) -> str:
        nonlocal count
        count += 1
        name = f"{out.stem}-chart{count}.svg"
        svg = draw(block[1])
        out.with_name(name).write_text(svg, "utf-8")
        label = re.search(r'aria-label="([^"]*)"', svg)
        return f"![{label[1] if label else 'A flow chart'}]({name})"

    return FENCE.sub(drawn, text)


def _operations(folder: Path, chapters: dict[str, list[OpDef]]) -> None:
    """Write a page per operation with its picture, a page per chapter, and the index."""
    folder.mkdir(parents=True, exist_ok=True)
    index = (ROOT / "docs" / "reference" / "operations" / "index.md").read_text("utf-8")
    for group, opdefs in chapters.items():
        index = re.sub(rf"\({slug(group)}\.md#(\w+)\)", r"(\1.md)", index)
        lines = [f"# {group}", "", "```{toctree}", ":maxdepth: 1", "", *(d.mnemonic for d in opdefs), "```", ""]
        (folder / f"{slug(group)}.md").write_text("\n".join(lines), "utf-8")
        for opdef in opdefs:
            (folder / f"{opdef.mnemonic}.svg").write_text(operation_svg(opdef), "utf-8")
            text = "\n".join(operation(opdef)).replace(f"## {opdef.mnemonic}\n", "", 1)
            text = re.sub(r"\]\(\.\./\.\./", "](../../", text)
            alt = f"{opdef.mnemonic}: {opdef.summary}".replace("[", "(").replace("]", ")")
            page = f"# {opdef.mnemonic}\n\n*Operation of the chapter [{group}]({slug(group)}.md).*\n\n"
            page += f"![{alt}]({opdef.mnemonic}.svg)\n{text}\n"
            page += f"In a terminal: `tilery ops {opdef.mnemonic}`. In Python: `tilery.ops.{opdef.cls.__name__}`.\n"
            (folder / f"{opdef.mnemonic}.md").write_text(page, "utf-8")
    toc = ["", "```{toctree}", ":hidden:", "", *map(slug, chapters), "```", ""]
    (folder / "index.md").write_text(index + "\n".join(toc), "utf-8")


# ---------------------------------------------------------------- API


def public(module: str) -> list[str]:
    """Return the names of a page of the API."""
    loaded = import_module(module)
    names = getattr(loaded, "__all__", None)
    if names is None:
        names = [n for n, v in vars(loaded).items() if getattr(v, "__module__", "") == module and n[0] != "_"]
    return sorted(name for name in names if not ismodule(getattr(loaded, name)))


def _api(folder: Path) -> None:
    """Write a page per module; a name that several modules export is described where its module is listed last."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {id(getattr(import_module(m), name)): m for m in API for name in public(m)}
    for module, title in API.items():
        lines = [module, "=" * len(module), "", f"{title}.", "", f".. currentmodule:: {module}", ""]
        loaded = import_module(module)
        for name in public(module):
            value = getattr(loaded, name)
            home = described[id(value)]
            if home != module:
                lines += [f"``{name}``: see :doc:`{home}`.", ""]
            elif isclass(value):
                lines += [f".. autoclass:: {module}.{name}", "   :members:", "   :member-order: bysource", ""]
            elif isfunction(value):
                lines += [f".. autofunction:: {module}.{name}", ""]
            else:
                lines += [f".. py:data:: {name}", "", f"   ``{_short(value)}``", ""]
        (folder / f"{module}.rst").write_text("\n".join(lines), "utf-8")
    what = "Every public name, from its docstring and its types; see [what is stable](../stability.md)."
    rows = [f"| [`{module}`]({module}.rst) | {title} |" for module, title in API.items()]
    table = ["| Module | What it is for |", "|---|---|", *rows, ""]
    toc = ["```{toctree}", ":hidden:", "", *API, "```", ""]
    (folder / "index.md").write_text("\n".join(["# Python API", "", what, "", *table, *toc]), "utf-8")


def _short(value: object) -> str:
    text = repr(value).replace("`", "'").replace("\n", " ").replace("\\", "\\\\")
    return text if len(text) <= 80 else text[:77] + "..."
