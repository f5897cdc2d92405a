"""C++ kernels: the text of NVIDIA's disassembler, the same bytes written back, and right results on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import tilery
from cpp.kernels import CASES, FILES, compiled
from support.oracle import disassemble, find_tileirdisasm
from tilery.engines.tileiras.compiler import assemble
from tilery.ir import walk
from tilery.source.lines import places, shown_places

pytestmark = pytest.mark.nvrtc


@pytest.mark.oracle
@pytest.mark.parametrize("stem", FILES)
def test_the_text_is_that_of_the_disassembler(stem: str) -> None:
    program = compiled(stem)
    judged = disassemble(program.bytecode)
    assert judged.returncode == 0, judged.stderr
    assert tilery.show(program.module) == judged.stdout
    assert tilery.show(program.module, locs=True) == disassemble(program.bytecode, "-g").stdout


@pytest.mark.parametrize("stem", FILES)
def test_the_bytes_are_written_back(stem: str) -> None:
    program = compiled(stem)
    assert tilery.dumps(program.module) == program.bytecode


@pytest.mark.parametrize("stem", FILES)
def test_the_text_is_parsed_again(stem: str) -> None:
    _, _, text = tilery.show(compiled(stem).module).partition("\n")  # the first line names the compiler
    assert tilery.show(tilery.parse(text)) == text


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_computes_what_it_should(name: str, engine: str) -> None:
    if engine == "cpu":
        pytest.importorskip("llvmlite")
    case = CASES[name](np.random.default_rng(7))
    kernel = compiled(case.stem).kernel(case.kernel, engine=engine)
    printed: list[str] = []
    kernel.launch(case.grid, case.arguments, output=printed.append)
    for found, expected in zip(case.arguments, case.expected):
        wanted = np.asarray(expected).astype(found.dtype).reshape(found.shape)
        if case.close:
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        else:
            assert found.tobytes() == wanted.tobytes()
    assert "".join(printed) == case.printed


@pytest.mark.parametrize("stem", FILES)
def test_tileiras_compiles_it(stem: str) -> None:
    if find_tileirdisasm() is None:
        pytest.skip("needs NVIDIA's tileiras (pip install 'tilery[nvidia]')")
    assert assemble(compiled(stem).module, "sm_90").startswith(b"\x7fELF")


@pytest.mark.parametrize("stem", FILES)
def test_triton_compiles_it(stem: str) -> None:
    pytest.importorskip("triton", reason="needs Triton (pip install 'tilery[gpu]')")
    from tilery.engines.triton.compiler import compile_entry

    module = compiled(stem).module
    for entry in module.entries[:2]:
        assert compile_entry(module, entry.sym_name, target="sm_90").binary.startswith(b"\x7fELF")


@pytest.mark.parametrize("stem", FILES)
def test_operations_name_lines_of_the_file(stem: str) -> None:
    found = [shown_places(o.loc)[0] for o in walk(compiled(stem).module.body) if places(o.loc)]
    assert len(found) > 20
    assert {place.file.rpartition("/")[2] for place in found} <= {f"{stem}.cu", "common.h"}
    assert all(place.text.strip() for place in found)


def test_a_kernel_is_found_by_its_names() -> None:
    program = compiled("views")
    assert program.symbol("scale < float,64 >") == program.symbol("scale<float, 64>")
    assert program.symbol("shapes::transpose") == program.symbol(program.kernels["shapes::transpose"])
    with pytest.raises(tilery.TileError, match=r"no kernel 'nothing', expected one of: add, .*scale<float, 64>"):
        program.symbol("nothing")
    with pytest.raises(tilery.TileError, match="has 6 kernels, name one of"):
        program.symbol()


def test_a_fault_names_the_line_of_the_kernel() -> None:
    kernel = compiled("views").kernel("scale<float, 64>")
    with pytest.raises(tilery.TileError) as found:
        kernel.launch(16, [np.zeros(1000, np.float32), 2.0])
    assert any("views.cu:14:" in note and note.endswith(" in scale") for note in found.value.notes)
