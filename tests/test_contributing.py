"""CONTRIBUTING.md is right: its diffs apply, and the result does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.recipes import follow, hunks, run, section

CHECKS = """
    import numpy as np
    import tilery

    def survives(body, version):
        '''The module with this body, after text and bytecode have each been there and back.'''
        module = tilery.parse("entry @k(%in: tile<ptr<f32>>, %out: tile<ptr<f32>>) {" + body + "return }")
        again = tilery.load(tilery.dumps(module, version))
        assert tilery.equal(module, again), tilery.difference(module, again)
        assert tilery.equal(tilery.parse(tilery.show(again)), module), tilery.show(again)
        return again

    def computes(module, x):
        '''What the kernel writes where it was given x.'''
        y = np.zeros_like(x)
        tilery.compile(module).launch(1, [x, y])
        return y
"""


TASKS = (
    "Add an operation",
    "Add a field, or a bytecode version",
    "Add a scalar type",
    "Add a pass",
    "Add an engine",
    "Add an error kind",
)


@pytest.mark.parametrize("title", TASKS)
def test_a_task_changes_few_files(title: str) -> None:
    assert 1 <= len({name for name, _, _ in hunks(section(title))}) <= 3


def test_an_error_kind(tmp_path: Path) -> None:
    root = follow("Add an error kind", tmp_path)
    program = """
    import json, pickle
    error = tilery.TileError("used up", kind=tilery.ErrorKind.QUOTA)
    assert pickle.loads(pickle.dumps(error)).kind is tilery.ErrorKind("quota")
    print(json.dumps(error.as_dict()["kind"]))
    """
    assert run(root, CHECKS + program) == '"quota"\n'
    assert "| `quota` |" in (root / "docs" / "stability.md").read_text("utf-8")


def test_an_operation(tmp_path: Path) -> None:
    root = follow("Add an operation", tmp_path)
    program = """
    body = '''
      %l = constant <f32: -1.0> : tile<f32>
      %h = constant <f32: 2.0> : tile<f32>
      %x, %t = load_ptr_tko weak %in : tile<ptr<f32>> -> tile<f32>, token
      %y = clampf %x, %l, %h : tile<f32>
      %u = store_ptr_tko weak %out, %y : tile<ptr<f32>>, tile<f32> -> token
    '''
    module = survives(body, "13.4")
    assert [float(computes(module, np.float32([x]))[0]) for x in (-3, 0.5, 7)] == [-1, 0.5, 2]
    try:
        tilery.dumps(module, "13.3")
    except tilery.TileError as error:
        print(error.message)
    """
    assert "not available in bytecode version 13.3" in run(root, CHECKS + program)


def test_a_field_and_a_version(tmp_path: Path) -> None:
    root = follow("Add a field, or a bytecode version", tmp_path)
    program = """
    body = '''
      %x, %t = load_ptr_tko weak %in : tile<ptr<f32>> -> tile<f32>, token
      %y = absf %x flush_to_zero : tile<f32>
      %u = store_ptr_tko weak %out, %y : tile<ptr<f32>>, tile<f32> -> token
    '''
    module = survives(body, "13.6")
    assert module.version == tilery.LATEST == (13, 6)
    survives(body.replace("flush_to_zero ", ""), "13.1")
    try:
        tilery.dumps(module, "13.4")
    except tilery.TileError as error:
        print(error.message)
    """
    assert "13.6" in run(root, CHECKS + program)


def test_a_scalar_type(tmp_path: Path) -> None:
    root = follow("Add a scalar type", tmp_path)
    program = """
    import ml_dtypes
    body = '''
      %c = constant <f8E3M4: [1.5, -2.0]> : tile<2xf8E3M4>
      %x, %t = load_ptr_tko weak %in : tile<ptr<f32>> -> tile<f32>, token
      %n = ftof %x : tile<f32> -> tile<f8E3M4>
      %y = ftof %n : tile<f8E3M4> -> tile<f32>
      %u = store_ptr_tko weak %out, %y : tile<ptr<f32>>, tile<f32> -> token
    '''
    module = survives(body, "13.4")
    for x in np.float32([0.1, -3.14159, 9.99]):
        assert computes(module, np.float32([x]))[0] == np.float32(x).astype(ml_dtypes.float8_e3m4), x
    narrow = tilery.parse('''entry @k(%in: tile<ptr<f8E3M4>>, %out: tile<ptr<f8E3M4>>) {
      %x, %t = load_ptr_tko weak %in : tile<ptr<f8E3M4>> -> tile<f8E3M4>, token
      %u = store_ptr_tko weak %out, %x : tile<ptr<f8E3M4>>, tile<f8E3M4> -> token
      return
    }''')
    x = np.array([1.25], ml_dtypes.float8_e3m4)
    assert computes(narrow, x) == x
    try:
        tilery.dumps(module, "13.3")
    except tilery.TileError as error:
        print(error.message)
    """
    assert "Float8E3M4" in run(root, CHECKS + program)


def test_a_pass(tmp_path: Path) -> None:
    root = follow("Add a pass", tmp_path)
    program = """
    import sys
    from tilery.cli.main import main
    from tilery.passes import parse_pipeline, run_pipeline

    text = 'entry @k(%n: tile<i32>) { %c = constant <i32: 8> : tile<i32> %0 = divi %n, %c unsigned : tile<i32> '
    text += '%1 = print_tko "%d", %0 : tile<i32> -> token return }'
    module = tilery.parse(text)
    report = run_pipeline(module, parse_pipeline("strength-reduce"))
    assert report.counts["divide_by_power_of_two"] == 1, report
    assert not tilery.verify(module)
    assert [o.name for o in module.entries[0].body.ops][-3:] == ["shri", "print_tko", "return"]
    printed = []
    tilery.compile(module).launch(1, [100], output=printed.append)
    assert printed == ["12"], printed
    sys.exit(main(["opt", "--list"]))
    """
    assert "Replace divisions by powers of two by shifts." in run(root, CHECKS + program)


def test_an_engine(tmp_path: Path) -> None:
    root = follow("Add an engine", tmp_path)
    program = """
    body = '''
      %x, %t = load_ptr_tko weak %in : tile<ptr<f32>> -> tile<f32>, token
      %u = store_ptr_tko weak %out, %x : tile<ptr<f32>>, tile<f32> -> token
    '''
    module = survives(body, "13.4")
    kernel = tilery.compile(module, engine="counting", on="reference")
    y = np.zeros(1, np.float32)
    for n in range(3):
        stats = kernel.launch(1, [np.float32([n]), y], names=["in", "out"], threads=2)
        assert stats.blocks == 1 and y[0] == n
    from tilery.engines.counting import LAUNCHES
    assert LAUNCHES == {"k": 3}
    from tilery.cli.main import main
    open("k.mlir", "w").write(tilery.show(module))
    arguments = ["--arg", "x=ones:f32:1", "--arg", "y=zeros:f32:1", "--print", "y"]
    assert main(["run", "k.mlir", "--engine", "counting", *arguments]) == 0
    assert LAUNCHES == {"k": 4}
    """
    assert run(root, CHECKS + program) == "y = [1.]\n"
