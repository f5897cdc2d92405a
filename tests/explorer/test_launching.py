"""Runs: results, reports, accesses, values and tokens by id; limits; and that nothing executes without a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilery.explorer import Explorer
from tilery.explorer.launching import job
from tilery.explorer.launching.child import JobRunner

from .requests import example

ADD = ["a=arange:f32:256", "b=ones:f32:256", "out=zeros:f32:256", "n=250"]


def here(**fields: Any) -> dict[str, Any]:
    """Run in this process."""
    made = Explorer(runner=job.perform).answer({"do": "run", "sanitize": "all", **fields})
    json.dumps(made, allow_nan=False)
    return made


def names(text: str) -> list[str]:
    ops = Explorer().answer({"do": "analyse", "text": text})["ops"]
    return [ops["names"][n] for n in ops["name"]]


def test_a_run_shows_results_and_who_accessed_them() -> None:
    text = example("add")
    found = here(text=text, grid=[4], args=ADD)
    assert found["ok"] and found["reports"] == [] and found["error"] is None
    out = found["arguments"][2]
    assert out["elements"][:3] == [1, 2, 3] and out["elements"][250:] == [0] * 6 and out["changed"] > 0
    name = names(text)
    written = [each for each in found["access"]["accesses"] if each["kind"] == "write"]
    (store,) = written
    assert name[store["op"]] == "store_ptr_tko" and found["access"]["arrays"][store["array"]]["name"] == "out"
    assert store["runs"] == [0, 0, 64, 1, 1, 64, 64, 1, 2, 128, 64, 1, 3, 192, 58, 1]


def test_values_of_any_operation_and_block() -> None:
    text = example("add")
    index = names(text).index("addi")
    explorer = Explorer(runner=job.perform)
    for block in range(4):
        fields = {"text": text, "grid": [4], "args": ADD, "op": index, "block": [block]}
        found = explorer.answer({"do": "values", **fields})
        (tile,) = found["tiles"]
        assert tile["elements"] == list(range(64 * block, 64 * block + 64)) and found["times"] == 1
    summary = here(text=text, grid=[4], args=ADD, block=[2])["values"][str(index)]
    assert (summary["low"], summary["high"]) == (128, 191)
    pointers = names(text).index("offset")
    found = explorer.answer({"do": "values", "text": text, "grid": [4], "args": ADD, "op": pointers, "block": [1]})
    assert found["tiles"][0]["elements"][:2] == ["a[64]", "a[65]"]


def test_values_of_each_iteration() -> None:
    text = example("product")
    product = names(text).index("mmaf")
    fields = {"text": text, "grid": [4, 4], "args": ["ones:f32:64x64", "ones:f32:64x64", "zeros:f32:64x64"]}
    explorer = Explorer(runner=job.perform)
    for turn in range(4):
        found = explorer.answer({"do": "values", **fields, "op": product, "occurrence": turn})
        assert found["times"] == found["kept"] == 4 and set(found["tiles"][0]["elements"]) == {16 * (turn + 1)}


def test_reports_name_operations() -> None:
    text = example("faulty")
    found = here(text=text, grid=[4], args=["x=rand:f32:256", "flag=zeros:i32:1"])
    name = names(text)
    by_check = {report["check"]: report for report in found["reports"]}
    assert set(by_check) == {"bounds", "race"}
    assert name[by_check["race"]["op"]] == "store_ptr_tko" and by_check["bounds"]["places"][0]["block"] == [3, 0, 0]
    assert all(name[place["op"]] == place["name"] for report in found["reports"] for place in report["places"])


def test_a_fault_without_the_sanitizer_stops_the_run() -> None:
    text = example("faulty")
    found = here(text=text, grid=[4], args=["x=rand:f32:256", "flag=zeros:i32:1"], sanitize="")
    assert names(text)[found["error"]["op"]] == "load_ptr_tko" and found["stats"] is None


def test_tokens_lead_from_maker_to_waiter() -> None:
    text = example("sum")
    args = ["x=ones:f32:64", "part=zeros:f32:4", "count=zeros:i32:1", "out=zeros:f32:1"]
    found = here(text=text, grid=[4], args=args)
    events = found["timeline"]["events"]
    made = {(event["block"], event["makes"]): event for event in events}
    waits = [(event, made[event["block"], token]) for event in events for token in event["waits"]]
    name = names(text)
    pairs = {(name[before["op"]], name[after["op"]]) for after, before in waits}
    assert pairs == {("store_ptr_tko", "atomic_rmw_tko"), ("atomic_rmw_tko", "load_ptr_tko")}
    assert all(before["at"] < after["at"] for after, before in waits)


def test_narrow_elements() -> None:
    text = """entry @k(%p: tile<ptr<bf16>>) {
      %v, %t = load_ptr_tko weak %p : tile<ptr<bf16>> -> tile<bf16>, token
      return
    }"""
    found = here(text=text, grid=[1], args=["p=arange:bf16:4"])
    assert found["ok"] and found["arguments"][0]["elements"] == [0, 1, 2, 3]
    assert found["values"]["2"]["elements"] == [0]


def test_two_elements_in_a_byte() -> None:
    view = "tensor_view<2x8xf4E2M1FN, strides=[8,1]>"
    text = f"""entry @k(%p: tile<ptr<f4E2M1FN>>) {{
      %v = make_tensor_view %p, shape = [2, 8], strides = [8, 1] : {view}
      %q = make_partition_view %v : partition_view<tile=(1x4), {view}>
      %x, %y, %z = get_tile_block_id : tile<i32>
      %a, %t = load_view_tko weak %q[%x, %y]
        : partition_view<tile=(1x4), {view}>, tile<i32> -> tile<1x4xf4E2M1FN>, token
      return
    }}"""
    access = here(text=text, grid=[2, 2], args=["p=arange:f4E2M1FN:2x8"])["access"]
    assert access["arrays"] == [{"name": "p", "shape": [2, 8]}] and access["outside"] == 0
    assert access["accesses"][0]["runs"] == [0, 0, 4, 1, 1, 8, 4, 1, 2, 4, 4, 1, 3, 12, 4, 1]


def test_numbers_that_json_lacks() -> None:
    text = "entry @k(%p: tile<ptr<f32>>) {\n  return\n}\n"
    found = here(text=text, grid=[1], args=["p=uninit:f32:2"])
    assert found["arguments"][0]["elements"] == ["NaN", "NaN"] and found["arguments"][0]["nans"] == 2


def test_other_engines_run_without_a_record() -> None:
    pytest.importorskip("llvmlite")
    found = here(text=example("add"), grid=[4], args=ADD, engine="cpu")
    assert found["engine"] == "cpu" and found["arguments"][2]["elements"][:2] == [1, 2] and not found["values"]


def test_arguments_come_only_from_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "entry @k(%p: tile<ptr<f32>>) {\n  return\n}\n"
    (tmp_path / "inside").mkdir()
    np.save(tmp_path / "outside.npy", np.ones(3, np.float32))
    np.save(tmp_path / "inside" / "x.npy", np.ones(3, np.float32))
    monkeypatch.chdir(tmp_path / "inside")
    assert here(text=text, args=["p=@x.npy"])["arguments"][0]["elements"] == [1, 1, 1]
    for spec in ("p=@../outside.npy", f"p=@{tmp_path}/outside.npy", "@/etc/passwd"):
        assert "below the working directory" in here(text=text, args=[spec])["error"]["message"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": [0]}, "grid extents must be between"),
        ({"grid": [1, 1, 1, 1]}, "'grid' has 4 items"),
        ({"args": ["a=rand:f32:1"]}, "has 4 parameters"),
        ({"args": [*ADD[:3], "n=f32:1"]}, "'n' has type f32"),
        ({"args": ["a=rand:f99:1"]}, "f99"),
        ({"args": [1]}, "list of strings"),
        ({"engine": "cpuu"}, "unknown engine"),
        ({"sanitize": "x"}, "unknown check"),
        ({"entry": "none"}, "no kernel 'none'"),
    ],
)
def test_wrong_requests_are_errors(change: dict[str, Any], message: str) -> None:
    found = here(**{"text": example("add"), "grid": [4], "args": ADD, **change})
    error = found["error"]
    assert message in error["message"]


# ---------------------------------------------------------------- the child process


def test_a_child_answers_like_this_process() -> None:
    fields = {"text": example("add"), "grid": [4], "args": ADD, "sanitize": "all"}
    made = Explorer(runner=JobRunner()).answer({"do": "run", **fields})
    assert made == here(**fields)


ENDLESS = """entry @k() {
  loop {
    continue
  }
  return
}
"""


def test_a_run_that_never_ends_is_stopped() -> None:
    made = Explorer(runner=JobRunner(seconds=3)).answer({"do": "run", "text": ENDLESS})
    message = made["error"]["message"]
    assert "longer than 3 seconds" in message or "SIGXCPU" in message or "deadlock" in message


def test_a_child_cannot_take_all_memory() -> None:
    text = "entry @k(%p: tile<ptr<f32>>) {\n  return\n}\n"
    made = Explorer(runner=JobRunner(memory=2 << 30)).answer(
        {"do": "run", "text": text, "args": ["p=rand:f32:1000000000"]}
    )
    assert not made["ok"] and "memory" in made["error"]["message"]


def test_stop_ends_a_run() -> None:
    import threading
    import time

    runner = JobRunner(seconds=50)
    explorer = Explorer(runner=runner)
    source = "import time\ntime.sleep(40)\n"
    done: list[dict[str, Any]] = []
    request = {"do": "compile", "language": "cutile", "source": source, "kernel": "k"}
    thread = threading.Thread(target=lambda: done.append(explorer.answer(request)))
    thread.start()
    while not explorer.answer({"do": "stop"})["stopped"]:
        time.sleep(0.05)
    thread.join()
    assert done[0]["error"]["message"] == "the run was stopped"


def test_nothing_runs_before_a_request_to_run(tmp_path: Path) -> None:
    """Opening, analysing and exporting a Python source does not execute it."""
    from tilery.explorer.protocol import File

    mark = tmp_path / "ran"
    source = f"import cuda.tile as ct\nopen({str(mark)!r}, 'w').close()\n@ct.kernel\ndef k(): pass\n"
    explorer = Explorer([File("k.py", source.encode())], runner=job.perform)
    opened = explorer.answer({"do": "open", "file": 0})
    explorer.answer({"do": "kernels", "language": "cutile", "source": source})
    assert [k["name"] for k in opened["sources"][0]["kernels"]] == ["k"]
    assert not mark.exists()


def test_triton_is_compiled_with_its_lines() -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    source = """import triton
import triton.language as tl

# tilery: f32[256], f32[256], 256, 64
@triton.jit
def twice(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tile = tl.load(x + i, mask=i < n)
    tl.store(y + i, tile + tile, mask=i < n)
"""
    from tilery.explorer.protocol import File

    explorer = Explorer([File("twice.py", source.encode())], runner=JobRunner())
    (shown,) = explorer.answer({"do": "open", "file": 0})["sources"]
    assert shown["language"] == "triton"
    (kernel,) = shown["kernels"]
    request = {"do": "compile", "language": "triton", "source": source, "file": "twice.py", "kernel": kernel["name"]}
    made = explorer.answer({**request, "signature": kernel["signature"]})
    assert made["ok"], made
    document = {"text": made["text"], "origin": made["origin"]}
    found = explorer.answer({"do": "analyse", **document})
    ops = found["ops"]
    adds = [n for n, name in enumerate(ops["name"]) if ops["names"][name] == "addf"]
    file, line, _ = found["places"][ops["place"][adds[0]]][0]
    assert found["files"][file] == made["file"] and line == 9
    launch = made["launch"]
    args = [f"{p['name']}={p['spec']}" for p in launch["params"]]
    ran = explorer.answer({"do": "run", **document, "grid": [4], "args": args, "convention": launch["convention"]})
    assert ran["ok"] and ran["error"] is None
    x, y = (np.array(a["elements"]) for a in ran["arguments"][:2])
    assert np.allclose(y, 2 * x)


def test_cutile_is_compiled_with_its_lines() -> None:
    pytest.importorskip("cuda.tile")
    source = """import cuda.tile as ct

# tilery: f32[256], f32[256], 64
@ct.kernel
def twice(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(T,))
    ct.store(y, index=(i,), tile=tile + tile)
"""
    explorer = Explorer(runner=JobRunner())
    request = {"do": "compile", "language": "cutile", "source": source, "file": "twice.py", "kernel": "twice"}
    made = explorer.answer({**request, "signature": "f32[256], f32[256], 64"})
    assert made["ok"], made
    document = {"text": made["text"], "origin": made["origin"]}
    found = explorer.answer({"do": "analyse", **document})
    ops = found["ops"]
    adds = [n for n, name in enumerate(ops["name"]) if ops["names"][name] == "addf"]
    file, line, _ = found["places"][ops["place"][adds[0]]][0]
    assert found["files"][file] == made["file"] and line == 8
    args = [f"{p['name']}={p['spec']}" for p in made["launch"]["params"]]
    ran = explorer.answer({"do": "run", **document, "grid": [4], "args": args, "convention": "cutile"})
    assert ran["ok"] and ran["error"] is None
    x, y = (np.array(a["elements"]) for a in ran["arguments"])
    assert np.allclose(y, 2 * x)


# ---------------------------------------------------------------- two kernels


def proved(other: str, **fields: Any) -> dict[str, Any]:
    """Compare the example `add` with another text."""
    request = {"do": "prove", "text": example("add"), "other": other, "grid": [4], "args": ADD, **fields}
    made = Explorer(runner=job.perform).answer(request)
    json.dumps(made, allow_nan=False)
    return made


def test_two_kernels_are_compared() -> None:
    text = example("add")
    swapped = text.replace("addf %left, %right", "addf %right, %left")
    assert swapped != text
    found = proved(swapped)
    assert found["verdict"]["answer"] == "equal" and "Over the real numbers, for this launch" in found["text"]
    found = proved(text.replace("addf", "subf"))
    assert found["verdict"]["answer"] == "different" and found["verdict"]["witness"]["output"] == "out"
    found = proved(text, other_grid=[3])
    assert found["verdict"]["answer"] == "different"  # some elements stay as they were


def test_two_kernels_are_compared_bit_for_bit() -> None:
    pytest.importorskip("z3", reason="z3-solver is not installed")
    assert proved(example("add"), how="bits")["verdict"]["answer"] == "equal"
    assert proved(example("add").replace("addf", "subf"), how="bits")["verdict"]["answer"] == "undecided"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"other": "entry @k() { retrun }"}, "retrun"),
        ({"other": example("sum")}, "as f32 and as i32"),
        ({"grid": [0]}, "grid extents"),
        ({"other_grid": [1, 1, 1, 1]}, "other_grid"),
        ({"args": ADD[:2]}, "argument"),
        ({"args": ["a=@/etc/passwd", *ADD[1:]]}, "below the working directory"),
        ({"how": "guess"}, "must be one of"),
        ({"other_entry": "nothing"}, "nothing"),
    ],
)
def test_comparisons_that_cannot_be_made_say_why(fields: dict[str, Any], message: str) -> None:
    found = proved(**{"other": example("add"), **fields})
    assert not found["ok"] and message in str(found["error"]), found


def test_integers_are_as_given_and_uninit_is_undefined() -> None:
    text = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<f32>>) {
      %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %f = itof %v signed : tile<i32> -> tile<f32>
      %u = store_ptr_tko weak %q, %f : tile<ptr<f32>>, tile<f32> -> token
      return
    }"""
    same = text.replace("itof %v", "itof %w").replace("%f =", "%w = addi %v, %v : tile<i32>\n %f =")
    request = {"do": "prove", "text": text, "other": same, "args": ["p=zeros:i32:1", "q=uninit:f32:1"]}
    explorer = Explorer(runner=job.perform)
    assert explorer.answer(request)["verdict"]["answer"] == "equal"  # twice zero is zero
    assert explorer.answer({**request, "args": ["p=ones:i32:1", "q=uninit:f32:1"]})["verdict"]["answer"] == "different"


def test_nothing_is_compared_where_nothing_can_run() -> None:
    found = Explorer().answer({"do": "prove", "text": example("add"), "other": example("add"), "args": ADD})
    assert not found["ok"] and "NumPy" in found["error"]["message"]
