"""Objects in a notebook: short text, HTML without a way out of it, and the example notebooks."""

from __future__ import annotations

import ast
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import notebooks
import tilery
from support.oracle import ROOT
from tilery.attrs import CallSite, DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol
from tilery.builder import Builder, f32, i32, ptr
from tilery.cost import Roofline, find_gpu, measure, static_cost
from tilery.engines.common.limits import Stats
from tilery.engines.gpu.variants import Variant
from tilery.ir import Op, walk
from tilery.sanitize import Sanitizer
from tilery.tuner.search import Result, VariantTrial

EVIL = '"></pre><script>alert(1)</script>'
ALLOWED = {
    "pre",
    "span",
    "div",
    "b",
    "code",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "text",
    "rect",
    "title",
    "circle",
    "line",
    "polyline",
    "g",
}


class Tags(HTMLParser):
    """The tags of a text, which must be closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def module() -> tilery.Module:
    b = Builder(locs=True)
    with b.entry(EVIL, total=ptr(i32), f=f32) as k:
        before = b.load_ptr(k.total)
        b.mulf(k.f, k.f)
        b.store_ptr(k.total, before + b.block_id()[0])
    return b.module


def location() -> DILoc:
    file = DIFile(EVIL, "/x")
    scope = DISubprogram(file, 1, EVIL, EVIL, DICompileUnit(file), 1)
    return DILoc(FileLineCol(EVIL, 3, 4), scope)


def shown() -> dict[str, Any]:
    """Objects of every kind that a notebook shows."""
    made = module()
    kernel = tilery.compile(made)
    sanitizer = Sanitizer("all,nan")
    kernel.launch(4, [np.zeros(1, np.int32), float("inf")], sanitize=sanitizer)
    add = next(o for o in walk(made) if o.name == "addi")
    place = location()
    trials = [VariantTrial(Variant("tileiras"), seconds=1e-5, final=True), VariantTrial(Variant("triton"), error=EVIL)]
    machine = type("Machine", (), {"device": EVIL})()
    return {
        "module": made,
        "operation": add,
        "value": add.results[0],
        "type": add.results[0].type,
        "location": place,
        "inlined": CallSite(place, None),
        "kernel": kernel,
        "statistics": kernel.launch(1, [np.zeros(1, np.int32), 1.0]),
        "unknown statistics": Stats(blocks=1),
        "sanitizer": sanitizer,
        "reports": sanitizer.reports,
        "no reports": Sanitizer("race").reports,
        "report": sanitizer.reports.faults[0],
        "dump": tilery.dump(tilery.dumps(made)),
        "broken dump": tilery.dump(tilery.dumps(made)[:50]),
        "diff": tilery.diff(made, tilery.optimize(made)),
        "no diff": tilery.diff(made, made),
        "cost": static_cost(made.entries[0]),
        "exact cost": measure(made, 2, [np.zeros(1, np.int32), 1.0]),
        "tuned": Result(trials[0].variant, 1e-5, trials, machine, EVIL, "the reference engine"),
        "builder": Builder(made),
    }


SHOWN = shown()


@pytest.mark.parametrize("name", SHOWN)
def test_objects_show_themselves(name: str) -> None:
    found = SHOWN[name]
    assert len(repr(found)) < 400 and " at 0x" not in repr(found)
    html = found._repr_html_()
    tags = Tags(html)
    assert not tags.open and tags.seen <= ALLOWED
    assert "<script" not in html and html


def test_pictures_show_themselves() -> None:
    picture = Roofline(SHOWN["exact cost"], find_gpu("H200"))._repr_svg_()
    assert picture.startswith("<svg ") and "<script" not in picture


def test_long_objects_are_cut() -> None:
    def repeated(count: int) -> tilery.Module:
        lines = (f"%{n} = addi %x, %x : tile<i32>\n" for n in range(count))
        return tilery.parse(f"entry @k(%x: tile<i32>) {{ {''.join(lines)} return }}")

    many = repeated(3000)
    assert len(tilery.dump(tilery.dumps(many))._repr_html_()) < 100_000
    assert "more lines" in many._repr_html_()
    assert "more lines" in tilery.diff(many, repeated(1))._repr_html_()


def test_a_diff_is_false_where_nothing_differs() -> None:
    assert SHOWN["diff"] and not SHOWN["no diff"]
    assert str(SHOWN["diff"]).startswith("--- a\n+++ b\n@@ ")


# ---------------------------------------------------------------- notebooks


def test_the_notebooks_are_fresh() -> None:
    assert {path: path.read_text("utf-8") for path in notebooks.files()} == notebooks.files(), (
        "run scripts/notebooks.py"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    results = 0
    for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"{path.name}[{number}]")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}[{number}]", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"{path.name}[{number}]", "eval"), names)
            html = getattr(value, "_repr_html_", None) or getattr(value, "_repr_svg_", None)
            assert html is not None and html(), f"cell {number} shows {value!r}"
            assert isinstance(value, Op) or not Tags(html()).open
            results += 1
    assert results >= 4


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_notebook_runs_in_jupyter(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat (pip install nbclient ipykernel)")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient (pip install nbclient ipykernel)")
    pytest.importorskip("ipykernel", reason="needs ipykernel (pip install ipykernel)")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
