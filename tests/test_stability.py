"""Names that `docs/stability.md` promises are importable from where they have always been."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import pytest

from support.oracle import ROOT
from tilery.ops import registered

PROMISED = {
    "tilery": """
        LATEST SUPPORTED Block Builder Dump Module Op TileError Value Version attrs clone compile cutile difference dump
        dumps equal load ops optimize parse show types verify walk""",
    "tilery.ir": "Value Op Refused UnknownOp full_name Block walk clone difference equal",
    "tilery.types": """
        MAX_TILE_ELEMENTS DYNAMIC PaddingValue PtrAttr Type Scalar SCALARS F16 BF16 F32 TF32 F64 I1 I4 I8 I16 I32 I64
        NUMBERS Token String Foreign Ptr Tile TensorView TileView PartitionView StridedView GatherScatterView Function
        TOKEN STRING parse""",
    "tilery.attrs": """
        TileEnum RoundingMode IntegerOverflow Signedness ComparisonPredicate ComparisonOrdering AtomicRMWMode
        MemoryOrderingSemantics MemoryScope SymbolVisibility Attr UnitAttr IntAttr FloatAttr StrAttr TypeAttr SymbolRef
        ArrayAttr DictAttr DenseArray DenseStrings OpaqueAttr Dense DivBy SameElements Bounded Predicate
        OptimizationHints DebugAttr DIFile DICompileUnit DISubprogram DILexicalBlock Loc FileLineCol DILoc CallSite
        NameLoc FusedLoc LocalScope enclosing""",
    "tilery.version": "Version V13_1 V13_2 V13_3 V13_4 SUPPORTED LATEST TESTING",
    "tilery.ops": """
        AbsF AbsI AddF AddI Alloca AndI Assert Assume Atan2 AtomicCASTko AtomicRMWTko AtomicRedViewTko Bitcast Break
        Broadcast Cat Ceil CmpF CmpI Constant Continue Cos CosH DivF DivI Entry Exp Exp2 ExtI Extract FPowF FPowI FToF
        FToI Floor Fma For GdcLaunchDependentsTko GdcWaitTko GetGlobal GetIndexSpaceShape GetNumTileBlocks
        GetTensorShape GetTileBlockId Global IToF If Insert IntToPtr Iota JoinTokens LoadPtrTko LoadViewTko Log Log2
        Loop MakeGatherScatterView MakePartitionView MakeStridedView MakeTensorView MakeToken MaxF MaxI
        MemoryFenceAliasTko MinF MinI MmaF MmaFScaled MmaI Module MulF MulI MulhiI NegF NegI Offset OrI Pack Permute
        PrintTko PtrToInt PtrToPtr Reduce RemF RemI Reshape Return Rsqrt Scan Select ShLI ShRI Sin SinH Sqrt StorePtrTko
        StoreViewTko SubF SubI Tan TanH TruncI Unpack XOrI Yield""",
    "tilery.judge": "FaultKind Judge Limits Plan Problem Result StageResult judge_all read_problem",
    "tilery.prove": "Buffer Program Stage Verdict Witness bits over reals",
    "tilery.rewrite": """
        Answer Dead Place Report Rewrite Rules apply erase erase_dead insert isolated map_operands replace replace_uses
        users uses""",
    "tilery.passes": "register Option parse_pipeline run_pipeline",
    "tilery.smith": "smith smith_with_contract Argument Buffer Contract Launch",
    "tilery.exec.launch": "Loaded Kernel",
    "tilery.source": "MAX_PLACES Place annotate column comments excerpt places",
    "tilery.documented": """
        AssumePredicate CheckedDivBy CuteAttr StringElements Tables Width check_version constant_name decode_attr
        decode_debug decode_dict decode_enum decode_hints decode_op decode_segments decode_shape decode_type dense_log
        dictionary dump_records encode_attr encode_debug encode_dict encode_enum encode_hints encode_op encode_segments
        encode_shape encode_type parse parse_cute""",
    "tilery.cutile": "on module bytecode",
    "tilery.cpp": "Program build bytecode module",
    "tilery.diag": "TileError",
}


@pytest.mark.parametrize("module", PROMISED)
def test_promised_names_are_importable(module: str) -> None:
    home = import_module(module)
    assert [name for name in PROMISED[module].split() if not hasattr(home, name)] == []


def test_every_promised_module_is_in_the_list() -> None:
    rows = (ROOT / "docs" / "stability.md").read_text("utf-8").splitlines()
    stable = " ".join(row.split(" | ")[0] for row in rows if row.startswith("|") and "| yes" in row)
    words = {word for word in stable.replace("`", " ").replace(",", " ").replace(":", " ").split() if "." in word}
    modules = {word for word in words if word.startswith("tilery.")}
    assert all(any(word == known or word.startswith(known + ".") for known in PROMISED) for word in modules)
    assert len(modules) > 10


def test_every_operation_is_in_the_list() -> None:
    assert {opdef.cls.__name__ for opdef in registered()} <= set(PROMISED["tilery.ops"].split())


def test_the_manual_is_still_written_by_its_former_module() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tilery.docs", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    assert done.stdout.startswith("usage: ")
