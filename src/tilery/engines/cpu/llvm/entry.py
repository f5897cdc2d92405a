"""The exported function of a kernel: it runs `@block` for some tile blocks, see `abi`."""

from __future__ import annotations

from ..abi import FAULT_CELL, STOP, STREAM, Target
from ..text import Text
from .matrix import CONFIGURATION

BLOCK = (
    "define internal i64 @block(ptr noalias %slots, ptr noalias %arena, ptr %control, i1 %stream, i32 %bx, "
    "i32 %by, i32 %bz, i32 %gx, i32 %gy, i32 %gz, i64 %rank) #0 {"
)
"""The head of the function of a tile block. It returns 0, -1 to stop, or the number of a faulty operation plus 1."""


def run_function(g: Text, target: Target, has_tiles: bool = False) -> str:
    """Return the function that is exported. It calls `@block` for each tile block, maybe with tile registers ready."""
    enter = leave = ""
    if target.x86:
        g.needs["declare void @llvm.x86.sse.stmxcsr(ptr)"] = None
        g.needs["declare void @llvm.x86.sse.ldmxcsr(ptr)"] = None
        enter = """  %old = alloca i32
  %mine = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %old)
  store i32 8064, ptr %mine
  call void @llvm.x86.sse.ldmxcsr(ptr %mine)"""
        leave = "  call void @llvm.x86.sse.ldmxcsr(ptr %old)"
    if has_tiles:
        g.functions["@tiles"] = CONFIGURATION
        g.needs["declare void @llvm.x86.ldtilecfg(ptr)"] = None
        g.needs["declare void @llvm.x86.tilerelease()"] = None
        enter += "\n  call void @llvm.x86.ldtilecfg(ptr @tiles)"
        leave += "\n  call void @llvm.x86.tilerelease()"
    return RUN.replace("ENTER", enter).replace("LEAVE", leave)


RUN = f"""
define i64 @run(ptr %slots, ptr %grid, i64 %first, i64 %last, ptr %arena, ptr %control) nounwind {{
entry:
ENTER
  %pgy = getelementptr i64, ptr %grid, i64 1
  %pgz = getelementptr i64, ptr %grid, i64 2
  %x = load i64, ptr %grid
  %y = load i64, ptr %pgy
  %z = load i64, ptr %pgz
  %gx = trunc i64 %x to i32
  %gy = trunc i64 %y to i32
  %gz = trunc i64 %z to i32
  %pstop = getelementptr i64, ptr %control, i64 {STOP}
  %pfault = getelementptr i64, ptr %control, i64 {FAULT_CELL}
  %pstream = getelementptr i64, ptr %control, i64 {STREAM}
  %word = load i64, ptr %pstream
  %stream = icmp ne i64 %word, 0
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %fine ]
  %more = icmp ult i64 %i, %last
  br i1 %more, label %look, label %done
look:
  %stop = load atomic i64, ptr %pstop monotonic, align 8
  %hit = load atomic i64, ptr %pfault monotonic, align 8
  %c1 = icmp ne i64 %stop, 0
  %c2 = icmp ne i64 %hit, -1
  %c = or i1 %c1, %c2
  br i1 %c, label %stopped, label %one
one:
  %q = udiv i64 %i, %x
  %r = urem i64 %i, %x
  %q2 = udiv i64 %q, %y
  %r2 = urem i64 %q, %y
  %bx = trunc i64 %r to i32
  %by = trunc i64 %r2 to i32
  %bz = trunc i64 %q2 to i32
  %code = call i64 @block(ptr %slots, ptr %arena, ptr %control, i1 %stream, i32 %bx, i32 %by, i32 %bz, i32 %gx,
                          i32 %gy, i32 %gz, i64 %i)
  %good = icmp eq i64 %code, 0
  br i1 %good, label %fine, label %bad
fine:
  %next = add i64 %i, 1
  br label %head
bad:
  %early = icmp eq i64 %code, -1
  br i1 %early, label %stopped, label %fault
fault:
  %op = sub i64 %code, 1
  %high = shl i64 %i, 20
  %cell = or i64 %high, %op
  %was = atomicrmw umin ptr %pfault, i64 %cell monotonic
  br label %faulted
done:
  br label %leave
stopped:
  br label %leave
faulted:
  br label %leave
leave:
  %result = phi i64 [ 0, %done ], [ 1, %stopped ], [ 2, %faulted ]
  fence seq_cst
LEAVE
  ret i64 %result
}}
"""
