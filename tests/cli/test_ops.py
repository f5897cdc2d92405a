"""`tilery ops`."""

from __future__ import annotations

import json

import pytest

from tilery.cli.main import main
from tilery.ops import registered
from tilery.ops.names import ALSO


def test_ops_lists_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert listed == {d.mnemonic for d in registered()}


def test_ops_of_a_version_leaves_newer_ones_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--version", "13.1", "--json"]) == 0
    assert {op["since"] for op in json.loads(capsys.readouterr().out)} == {"13.1"}


def test_ops_names_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    for opdef in registered():
        assert main(["ops", opdef.mnemonic]) == 0
        out = capsys.readouterr().out
        assert all(f"\n  {f.attr} " in out for f in opdef.fields if f.role != "state"), opdef.mnemonic


def test_ops_takes_full_and_former_names(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cuda_tile.print_tko", "print"):
        assert main(["ops", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["name"] == "print_tko"


def test_ops_suggests_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "adff"]) == 2
    assert "did you mean addf" in capsys.readouterr().err


def test_ops_says_when_an_operation_came(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "atan2", "--version", "13.1"]) == 2
    assert "new in bytecode 13.2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "wanted"), [("load", "load_view_tko"), ("matmul", "mmaf"), ("tl.dot", "mmaf"), ("cumsum", "scan")]
)
def test_ops_understands_other_names(name: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", name]) == 2
    assert wanted in capsys.readouterr().err


def test_ops_takes_names_of_classes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "AddF", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "addf"


@pytest.mark.parametrize(("prefix", "module"), [("ct.", "cuda.tile"), ("tl.", "triton.language")])
def test_other_names_exist_in_their_languages(prefix: str, module: str) -> None:
    language = pytest.importorskip(module)
    names = {name.removeprefix(prefix) for each in ALSO.values() for name in each if name.startswith(prefix)}
    assert len(names) > 20 and {name for name in names if not hasattr(language, name)} == set()


def test_other_names_are_those_of_operations() -> None:
    assert set(ALSO) <= {opdef.mnemonic for opdef in registered()}
