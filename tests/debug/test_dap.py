"""`tilery dap`: every request of an editor, over pipes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.dap_client import Client
from tilery import TileError
from tilery.cli.debugging import from_editor

KERNEL = """\
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<4x8xf32>
  %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %x) -> (tile<4x8xf32>) {
    %q = addf %acc, %x : tile<4x8xf32>
    %pp = offset %p, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %iv = itof %i signed : tile<i32> -> tile<f32>
    %t = store_ptr_tko weak %pp, %iv : tile<ptr<f32>>, tile<f32> -> token
    continue %q : tile<4x8xf32>
  }
  %w = print_tko "done\\n" -> token
  return
}
"""
LAUNCH = {"grid": 4, "arg": ["a=zeros:f32:4", "n=3"]}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    return path


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client(tmp_path) as found:
        yield found


def test_lines_stop_and_show_frames_scopes_and_tiles(client: Client, kernel: Path) -> None:
    client.start(kernel, [7], **LAUNCH)
    stop = client.go("configurationDone")
    assert stop["reason"] == "breakpoint" and stop["hitBreakpointIds"] == [1]
    frame = client.top()
    assert (frame["line"], frame["source"]["path"], frame["name"]) == (7, str(kernel), "addf in @k")
    found = client.variables()
    assert found["%i"]["value"] == "0" and found["%acc"]["type"] == "tile<4x8xf32>"
    assert found["%acc"]["indexedVariables"] == 4
    children = client.request("variables", variablesReference=found["%acc"]["variablesReference"])["variables"]
    assert [child["name"] for child in children] == ["statistics", "[0]", "[1]", "[2]", "[3]"]
    assert children[0]["value"] == "min 1, max 1, mean 1"
    page = client.request(
        "variables", variablesReference=children[1]["variablesReference"], filter="indexed", start=2, count=3
    )
    assert [(item["name"], item["value"], item["evaluateName"]) for item in page["variables"]] == [
        (f"[{i}]", "1", f"%acc[0, {i}]") for i in (2, 3, 4)
    ]


def test_steps_go_by_operation_line_region_and_back(client: Client, kernel: Path) -> None:
    client.start(kernel, [7], **LAUNCH)
    client.go("configurationDone")
    assert client.go("next", threadId=1)["reason"] == "step"
    assert client.top()["line"] == 8
    client.go("stepIn", threadId=1)
    assert client.top()["line"] == 9
    client.go("stepBack", threadId=1)
    assert client.top()["line"] == 8
    client.go("next", threadId=1, granularity="instruction")
    client.go("stepBack", threadId=1, granularity="instruction")
    assert client.top()["line"] == 8
    assert client.go("continue", threadId=1)["reason"] == "breakpoint"
    assert client.variables()["%i"]["value"] == "1"
    assert client.go("reverseContinue", threadId=1)["reason"] == "breakpoint"
    assert client.variables()["%i"]["value"] == "0"
    assert client.go("reverseContinue", threadId=1)["reason"] == "entry"
    client.request("setBreakpoints", source={"path": str(kernel)}, breakpoints=[{"line": 9, "condition": "%i == 2"}])
    client.go("continue", threadId=1)
    assert client.variables()["%i"]["value"] == "2"
    client.go("stepOut", threadId=1)
    assert client.top()["line"] == 13
    client.request("continue", threadId=1)
    assert client.wait("exited")["exitCode"] == 0
    client.wait("terminated")
    assert client.output == "done\n" * 4


def test_tile_blocks_are_threads(client: Client, kernel: Path) -> None:
    client.start(kernel, [{"line": 7, "condition": "block 2"}], **LAUNCH)
    assert client.go("configurationDone")["threadId"] == 3
    assert [t["name"] for t in client.request("threads")["threads"]] == [f"block ({i}, 0, 0)" for i in range(4)]
    assert client.variables(3)["%b"]["value"] == "2"
    assert client.variables(4)["%b"]["value"] == "3"
    assert client.variables(4, "Launch")["block"]["value"] == "(3, 0, 0)"
    assert client.evaluate("%b * 10", frameId=client.top(4)["id"]) == "30"


def test_conditions_hits_log_messages_and_names(client: Client, kernel: Path) -> None:
    client.start(kernel, [{"line": 7, "logMessage": "i is {%i}"}, {"line": 8, "hitCondition": "2"}], **LAUNCH)
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "%iv", "condition": "%i == 2"}])
    client.go("configurationDone")
    assert (client.top()["line"], client.variables()["%i"]["value"]) == (8, "1")
    client.request("setBreakpoints", source={"path": str(kernel)}, breakpoints=[])
    client.go("continue", threadId=1)
    assert (client.top()["line"], client.variables()["%i"]["value"]) == (9, "2")
    assert client.output == "i is 0\ni is 1\n"
    answered = client.request("setFunctionBreakpoints", breakpoints=[{"name": "print_tko"}, {"name": "cosh"}])
    assert [each["verified"] for each in answered["breakpoints"]] == [True, False]
    client.go("continue", threadId=1)
    assert client.top()["line"] == 13


def test_writes_to_elements_stop(client: Client, kernel: Path) -> None:
    client.start(kernel, [7], **LAUNCH)
    client.go("configurationDone")
    array = client.variables(scope="Arrays")["a"]
    info = client.request("dataBreakpointInfo", variablesReference=array["variablesReference"], name="[2]")
    assert info["dataId"] == "a[2]"
    assert client.request("dataBreakpointInfo", name="%x")["dataId"] is None
    client.request("setBreakpoints", source={"path": str(kernel)}, breakpoints=[])
    client.request("setDataBreakpoints", breakpoints=[{"dataId": "a[2]"}])
    stop = client.go("continue", threadId=1)
    assert stop["reason"] == "data breakpoint" and stop["threadId"] == 3
    stop = client.go("continue", threadId=1)
    assert stop["text"] == "a[2]: 0 -> 1, written by store_ptr_tko at k.mlir:10 in tile block (2, 0, 0)"
    assert client.evaluate("a") == "[1. 1. 1. 1.]"
    assert client.go("reverseContinue", threadId=1)["reason"] == "data breakpoint"
    assert client.evaluate("a") == "[0. 0. 0. 0.]"


def test_nan_faults_and_reports_are_exceptions(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "nan.mlir"
    path.write_text(
        """entry @k(%p: tile<ptr<f32>>) {
  %one = constant <f32: -1.0> : tile<f32>
  %r = sqrt %one : tile<f32>
  %far = constant <i32: 1000> : tile<i32>
  %pp = offset %p, %far : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t = store_ptr_tko weak %pp, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}"""
    )
    client.start(path, arg=["a=zeros:f32:4"])
    client.request("setExceptionBreakpoints", filters=["nan"])
    stop = client.go("configurationDone")
    assert stop["reason"] == "exception" and "finite numbers make NaN" in stop["text"]
    assert client.request("exceptionInfo", threadId=1)["exceptionId"] == "nan"
    stop = client.go("continue", threadId=1)
    assert stop["reason"] == "exception" and "outside every buffer" in stop["text"]
    assert client.top()["line"] == 6
    client.go("stepBack", threadId=1)
    assert client.top()["line"] == 5
    client.go("continue", threadId=1)
    client.request("continue", threadId=1)
    assert client.wait("exited")["exitCode"] == 1
    assert "nan.mlir:6" in client.output


def test_reports_of_the_sanitizer_stop(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(
        """entry @k(%p: tile<ptr<f32>>) {
  %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %u = store_ptr_tko weak %p, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
  return
}"""
    )
    client.start(path, arg=["a=uninit:f32:4"], sanitize="uninit")
    client.request("setExceptionBreakpoints", filters=["report"])
    stop = client.go("configurationDone")
    assert stop["reason"] == "exception" and stop["text"].startswith("uninit: store_ptr_tko")
    client.go("stepBack", threadId=1)
    assert client.top()["line"] == 3
    assert client.go("continue", threadId=1)["text"].startswith("uninit: store_ptr_tko")


def test_pause_interrupts_a_long_loop(client: Client, kernel: Path) -> None:
    client.start(kernel, [], grid=1, arg=["a=zeros:f32:1", "n=2000000000"])
    client.request("configurationDone")
    client.request("pause", threadId=1)
    assert client.wait("stopped")["reason"] == "pause"
    assert client.variables()["%n"]["value"] == "2000000000"
    client.request("disconnect")
    assert client.process.wait(20) == 0


def test_the_console_takes_commands_of_the_terminal(client: Client, kernel: Path) -> None:
    client.start(kernel, [], stopOnEntry=True, **LAUNCH)
    assert client.go("configurationDone")["reason"] == "entry"
    assert "stop 1: addf" in client.evaluate(":b addf", context="repl")
    client.go("continue", threadId=1)
    assert client.evaluate("max(%acc[0, :2] + 1)", context="repl") == "2"
    answer = client.evaluate(":i", context="repl")
    assert "k.mlir:6" in answer or "k.mlir:7" in answer
    assert client.wait("stopped")["reason"] == "step"


def test_questions_about_sources(client: Client, kernel: Path) -> None:
    client.start(kernel, [7], **LAUNCH)
    client.go("configurationDone")
    found = client.request("breakpointLocations", source={"path": str(kernel)}, line=6, endLine=9)
    assert [each["line"] for each in found["breakpoints"]] == [6, 7, 8, 9]
    assert client.request("loadedSources")["sources"] == [{"name": "k.mlir", "path": str(kernel)}]


def test_mistakes_are_answers(client: Client, kernel: Path) -> None:
    assert client.answer("frobnicate")["message"] == "there is no request 'frobnicate'"
    assert not client.answer("handle")["success"]
    assert client.answer("stackTrace", threadId=1)["message"] == "no kernel is running"
    client.start(kernel, [7], **LAUNCH)
    client.go("configurationDone")
    assert "the arguments of 'variables' are wrong" in client.answer("variables")["message"]
    assert "there are no variables 99" in client.answer("variables", variablesReference=99)["message"]
    for text in ("__import__('os')", "%acc.__class__", "(" * 400, "'a' * 9", "%nothing + 1", "9 ** 9 ** 9 ** 99"):
        client.answer("evaluate", expression=text)
    assert "there is no value '%nothing'" in client.answer("evaluate", expression="%nothing + 1")["message"]
    assert client.answer("evaluate", expression="%acc[9]")["success"] is False
    assert "are wrong" in client.answer("scopes", frameId=float("inf"))["message"]
    assert "are wrong" in client.answer("stackTrace", threadId=float("inf"))["message"]
    client.send_raw(b"[]")
    assert client.wait("output")["output"] == "a message is not an object\n"
    assert client.process.wait(20) == 0


@pytest.mark.parametrize("length", [b"9" * 5000, b"99999999999", b"-1", b"x"])
def test_a_length_that_is_not_one_ends_the_connection(client: Client, length: bytes) -> None:
    assert client.process.stdin is not None
    client.process.stdin.write(b"Content-Length: " + length + b"\r\n\r\n{}")
    client.process.stdin.flush()
    assert "a message has the length" in client.wait("output")["output"]
    assert client.process.wait(20) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("arg", 5), ("args", "a 'quote"), ("seed", "x"), ("batch", 0), ("batch", "x"), ("sanitize", 5), ("entry", [1])],
)
def test_options_of_an_editor_are_checked(name: str, value: object) -> None:
    with pytest.raises(TileError, match=f"launch: .*`{name}`"):
        from_editor({"program": "k.mlir", name: value})


def test_a_program_that_is_not_there(client: Client, tmp_path: Path) -> None:
    client.start(tmp_path / "none.mlir")
    client.request("configurationDone")
    assert client.wait("exited")["exitCode"] == 1
    assert "none.mlir" in client.output


def test_cutile_scripts_stop_at_their_lines(client: Client, tmp_path: Path) -> None:
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.tile") is None:
        pytest.skip("needs cuda-tile")
    script = tmp_path / "script.py"
    script.write_text(
        """import numpy as np
import cuda.tile as ct
@ct.kernel
def add(a, b, out, n: ct.Constant[int]):
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(n,))
    y = ct.load(b, index=(i,), shape=(n,))
    if i == 2:
        breakpoint()
    s = x + y
    ct.store(out, index=(i,), tile=s)
a, b, out = np.arange(64, dtype=np.float32), np.ones(64, np.float32), np.zeros(64, np.float32)
ct.launch(0, (4,), add, (a, b, out, 16))
print(out[:4].tolist())
"""
    )
    client.start(script, [11])
    stop = client.go("configurationDone")
    assert (stop["text"], stop["threadId"], client.top(3)["line"]) == ("breakpoint()", 3, 9)
    stop = client.go("continue", threadId=3)
    assert client.top(stop["threadId"])["line"] == 11
    assert client.variables(stop["threadId"])["s"]["type"] == "tile<16xf32>"
    assert client.evaluate("s[0] - a[32]", frameId=client.top(3)["id"]) == "1"
    client.request("continue", threadId=1)
    client.wait("terminated")
    assert client.output == "[1.0, 2.0, 3.0, 4.0]\n"
