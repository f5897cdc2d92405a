"""The protocol: each request by itself, and that one id names the same operation everywhere."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from itertools import pairwise
from typing import Any

import pytest

import tilery
from tilery.explorer.protocol import Explorer, File
from tilery.ir import walk

from .requests import BROKEN, WIDE, example, requests


def ask(what: str, **fields: Any) -> dict[str, Any]:
    made = Explorer().answer({"do": what, **fields})
    assert made["ok"], made
    return made


def located_bytecode(text: str) -> bytes:
    """Return bytecode that has the locations of a text: it needs a scope for each."""
    return tilery.dumps(tilery.optimize(tilery.parse(text), "synthesize-debug-info-scopes"))


def source_of(found: dict[str, Any], op: int) -> tuple[str, int, int]:
    file, line, column = found["places"][found["ops"]["place"][op]][0]
    return found["files"][file], line, column


@pytest.fixture(scope="module")
def add() -> str:
    return example("add")


def test_every_response_is_json() -> None:
    explorer = Explorer()
    for request in requests():
        response = explorer.answer(request)
        assert response["id"] == request["id"]
        assert json.loads(json.dumps(response, allow_nan=False)) == response


def test_answers_do_not_depend_on_earlier_requests() -> None:
    explorer = Explorer()
    for request in requests():
        assert explorer.answer(request) == Explorer().answer(request), request["do"]


def test_ids_are_the_order_of_walk(add: str) -> None:
    ops = ask("analyse", text=add)["ops"]
    names = [ops["names"][n] for n in ops["name"]]
    assert names == [o.name for o in walk(tilery.parse(add))]
    assert ops["parent"][:3] == [-1, 0, 1]


@pytest.mark.parametrize("name", ["add", "faulty", "product", "sum"])
def test_spans_spell_their_operations(name: str) -> None:
    text = example(name)
    ops = ask("analyse", text=text)["ops"]
    for number, start, end in zip(ops["name"], ops["start"], ops["end"]):
        if start >= 0:
            assert ops["names"][number] in text[start:end]
    assert sum(start < 0 for start in ops["start"]) <= 2  # the module, and a terminator that is not spelled


def test_offsets_count_utf16_units() -> None:
    found = ask("analyse", text=WIDE)["ops"]
    units = WIDE.encode("utf-16-le")
    spelled = [units[2 * a : 2 * b].decode("utf-16-le") for a, b in zip(found["start"], found["end"]) if a >= 0]
    assert "%0 = iota : tile<8xi32>" in spelled
    at = len(WIDE[: WIDE.index("iota")].encode("utf-16-le")) // 2
    hover = ask("hover", text=WIDE, at=at)
    assert hover["start"] == at and hover["markdown"].startswith("**iota**")


def test_errors_are_at_their_places() -> None:
    found = ask("analyse", text=BROKEN)
    assert not found["legal"]
    (error,) = found["diagnostics"]
    assert BROKEN[error["start"] : error["end"]] == "iotta" and "did you mean 'iota'" in error["message"]
    assert [found["ops"]["names"][n] for n in found["ops"]["name"]] == ["module", "entry", "iota", "return"]


UNUSED = """entry @k(%p: tile<ptr<f32>>, %x: tile<f32>, %n: tile<i32>) {
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""


def test_findings_of_the_linter_have_their_severity_and_rule() -> None:
    found = ask("analyse", text=UNUSED)
    assert found["legal"]
    assert [(d["severity"], d["rule"]) for d in found["diagnostics"]] == [("info", "unused-argument")]


def test_arguments_that_a_front_end_passes_are_no_findings() -> None:
    b = tilery.Builder()
    with b.loc("k.py", 2, 3), b.entry("k", p="ptr<f32>", x="f32", n="i32") as k:
        b.store_ptr(k.p, k.x)
    explorer = Explorer([File("k.tileirbc", tilery.dumps(b.module))])
    opened = explorer.answer({"do": "open", "file": 0})
    found = explorer.answer({"do": "analyse", "text": opened["text"], "origin": opened["origin"]})
    assert found["legal"] and found["diagnostics"] == []


def test_views_of_a_broken_text_are_errors_with_a_place() -> None:
    for what in ("bytes", "pipeline", "cost", "form"):
        error = Explorer().answer({"do": what, "text": BROKEN})["error"]
        assert BROKEN[error["start"] : error["end"]] == "iotta"


def test_bytes_belong_to_operations(add: str) -> None:
    found = ask("bytes", text=add)
    data = b64decode(found["data"])
    assert data == tilery.dumps(tilery.parse(add))
    covered = sorted(zip(found["start"], found["end"]))
    assert covered[0][0] == 0 and covered[-1][1] == len(data)
    assert all(a[1] == b[0] for a, b in pairwise(covered))
    ops = ask("analyse", text=add)["ops"]
    for text, op in zip(found["text"], found["op"]):
        spelled = found["texts"][text]
        if op > 1 and spelled in ops["names"]:
            assert ops["names"][ops["name"][op]] == spelled
    assert set(found["op"]) == {-1, *range(1, len(ops["name"]))}


def test_bytes_of_a_second_region_belong_to_its_operation() -> None:
    text = """entry @k(%c: tile<i1>) {
      %x = if %c -> (tile<i32>) {
        %a = constant <i32: 1> : tile<i32>
        yield %a : tile<i32>
      } else {
        %b = constant <i32: 2> : tile<i32>
        yield %b : tile<i32>
      }
      return
    }"""
    found = ask("bytes", text=text)
    owner = {found["texts"][t]: op for t, op in zip(found["text"], found["op"])}
    assert owner["elseRegion: 1 block"] == 2


def test_globals_move_in_bytecode_and_keep_their_ids() -> None:
    text = "entry @k() { return }\nglobal @g <i32: 7> : tile<1xi32>\n"
    ops = ask("analyse", text=text)["ops"]
    names = [ops["names"][n] for n in ops["name"]]
    found = ask("bytes", text=text)
    owned = {names[op] for op in found["op"] if op >= 0}
    assert owned == {"entry", "return", "global"}


def test_pipeline_shows_each_step(add: str) -> None:
    found = ask("pipeline", text=add, passes="canonicalize,cse,dce")
    assert [step["pass"] for step in found["steps"]] == ["canonicalize", "cse", "dce"]
    assert found["text"] == str(tilery.optimize(tilery.parse(add), "canonicalize,cse,dce"))
    changed = [step for step in found["steps"] if step["changed"]]
    assert changed and all(step["rules"] for step in changed)
    for step in changed:
        assert len(step["ids"]) == len(step["texts"]) == len(step["lines"]) == len(step["signs"])
        assert [text for sign, text in zip(step["signs"], step["texts"]) if sign == "-"] or "+" in step["signs"]


def test_pipeline_ids_follow_operations() -> None:
    text = """entry @k(%p: tile<ptr<i32>>) {
      %dead = iota : tile<8xi32>
      %a = constant <i32: 1> : tile<i32>
      %b = constant <i32: 1> : tile<i32>
      %t0 = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token
      %t1 = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token
      return
    }"""
    steps = ask("pipeline", text=text, passes="dce,cse")["steps"]
    ops = ask("analyse", text=text)["ops"]
    names = [ops["names"][n] for n in ops["name"]]
    for step in steps:
        for line, op in zip(step["texts"], step["ids"]):
            if op > 1:
                assert names[op] in line
            assert op == 1 or line != "}"
    stores = {op for line, op in zip(steps[1]["texts"], steps[1]["ids"]) if "store_ptr_tko" in line}
    assert stores == {5, 6}


def test_graph_has_an_edge_per_value(add: str) -> None:
    found = ask("graph", text=add, function=1)
    ids = {node["id"] for node in found["nodes"]}
    assert all(a in ids and b in ids for a, b, _, _ in found["edges"])
    assert {node["name"] for node in found["nodes"] if node.get("argument")} == {"%a", "%b", "%out", "%n"}
    assert found["total"] == len([node for node in found["nodes"] if not node.get("argument")])


def test_graph_of_a_large_function_is_cut_around_an_operation() -> None:
    lines = "".join(f"  %v{i + 1} = addi %v{i}, %v{i} : tile<8xi32>\n" for i in range(2000))
    text = f"entry @k() {{\n  %v0 = iota : tile<8xi32>\n{lines}  return\n}}\n"
    found = ask("graph", text=text, function=1, around=1500)
    ids = [node["id"] for node in found["nodes"]]
    assert len(ids) == 300 and found["total"] == 2002 and 1500 in ids and max(ids) - min(ids) == 299
    first = [node["id"] for node in ask("graph", text=text, function=1, around=0)["nodes"]]
    assert sorted(first) == list(range(2, 302))


def test_cost_names_operations(add: str) -> None:
    (kernel,) = ask("cost", text=add, gpu="H200", grid=[4])["kernels"]
    ops = ask("analyse", text=add)["ops"]
    assert [ops["names"][ops["name"][o["op"]]] for o in kernel["operations"]] == [
        o["name"] for o in kernel["operations"]
    ]
    assert kernel["bytes_read"] == 4 * 2 * 64 * 4 and kernel["roofline"]["bound"] == "memory"


def test_form_suggests_arguments(add: str) -> None:
    (form,) = ask("form", text=add)["kernels"]
    assert [(p["name"], p["spec"]) for p in form["params"]] == [
        ("a", "rand:f32:256"), ("b", "rand:f32:256"), ("out", "zeros:f32:256"), ("n", "256"),
    ]  # fmt: skip
    assert ask("form", text=example("product"))["kernels"][0]["grid"] == [4, 4]


def test_completion_fits_the_place(add: str) -> None:
    at = add.index("addf %left") + len("addf %l")
    found = ask("complete", text=add, at=at)
    labels = [item["label"] for item in found["items"]]
    assert found["from"] == at - 2 and "%left" in labels and "%lanes" not in labels  # integers do not fit


def test_no_request_needs_lsprotocol(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = requests()
    explorer = Explorer()
    expected = [explorer.answer(request) for request in asked]
    for name in [name for name in sys.modules if name.startswith(("tilery.lsp", "tilery.explorer"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    from tilery.explorer.protocol import Explorer as Bare
    from tilery.lsp.protocol import lsp

    assert lsp.__name__ == "tilery.lsp.plain"
    bare = Bare()
    assert [bare.answer(request) for request in asked] == expected


def test_bytecode_keeps_its_bytes_and_locations() -> None:
    text = 'entry @k() {\n  %0 = iota : tile<8xi32> loc("kernel.py":3:5)\n  return\n}\n'
    data = located_bytecode(text)
    explorer = Explorer([File("k.tileirbc", data)])
    opened = explorer.answer({"do": "open", "file": 0})
    assert "loc(" not in opened["text"]
    document = {"text": opened["text"], "origin": opened["origin"]}
    found = explorer.answer({"do": "analyse", **document})
    iota = found["ops"]["name"].index(found["ops"]["names"].index("iota"))
    assert source_of(found, iota) == ("kernel.py", 3, 6)
    bytes_ = explorer.answer({"do": "bytes", **document})
    assert bytes_["original"] and b64decode(bytes_["data"]) == data
    edited = {**document, "text": opened["text"].replace("iota", "iota ")}
    again = explorer.answer({"do": "analyse", **edited})
    assert source_of(again, iota) == ("kernel.py", 3, 6) and not explorer.answer({"do": "bytes", **edited})["original"]


def test_only_named_files_are_read(tmp_path: Any) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("password = 1\n")
    text = f'entry @k() {{\n  %0 = iota : tile<8xi32> loc("{secret}":1:1)\n  return\n}}\n'
    explorer = Explorer([File("k.tileirbc", located_bytecode(text))])
    assert explorer.answer({"do": "open", "file": 0})["sources"] == []  # it is not below the working directory
    assert "password" not in json.dumps(explorer.answer({"do": "analyse", "text": text}))


def test_sources_below_the_working_directory_are_shown(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.py").write_text("x = 1\n")
    text = 'entry @k() {\n  %0 = iota : tile<8xi32> loc("kernel.py":1:0)\n  return\n}\n'
    explorer = Explorer([File("k.tileirbc", located_bytecode(text))])
    (source,) = explorer.answer({"do": "open", "file": 0})["sources"]
    assert (source["name"], source["language"], source["text"]) == ("kernel.py", "cutile", "x = 1\n")


def test_without_a_runner_nothing_runs(add: str) -> None:
    for what in ("run", "values", "compile", "remarks"):
        made = Explorer().answer({"do": what, "text": add, "op": 1, "source": "", "language": "cutile"})
        assert not made["ok"] and "cannot run here" in made["error"]["message"]


def test_files_that_are_not_sources_are_not_shown(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("password = 1\n")
    text = 'entry @k() {\n  %0 = iota : tile<8xi32> loc(".env":1:0)\n  return\n}\n'
    explorer = Explorer([File("k.tileirbc", located_bytecode(text))])
    assert explorer.answer({"do": "open", "file": 0})["sources"] == []
