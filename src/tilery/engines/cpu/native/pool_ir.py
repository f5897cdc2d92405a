"""LLVM IR of the code that takes tile blocks and shares them between threads.

`work` runs tile blocks of a job until none are left; any thread may call it. On Linux, `worker` waits in native code
for jobs, so that starting one takes a microsecond, `post` offers a job to the workers, and `finish` waits until it is
done or the time is over.

A job is 8-byte words, see the indices below. The shared state of the workers is

    0  epoch << 32 | open << 31 | active workers
    1  how many workers sleep
    2  the job
    3  1 to end the workers

A worker joins a job only while it is open, so that nobody waits for one that wakes up late.
"""

from __future__ import annotations

from ..abi import QUICKLY, Target

RUN, SLOTS, GRID, CONTROL, NEXT, LAST, CHUNK, WANTED, STATUS = range(9)
"""The words of a job. NEXT to LAST are the tile blocks that are left, taken by CHUNK; worker n joins if n < WANTED;
STATUS collects what `run` returned."""
JOB_WORDS = 16
SHARED_WORDS = 16
SYMBOLS = frozenset({"syscall"})
"""What the code needs from the C library."""

_X86 = {
    "declare": """declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)""",
    "pause": "call void @llvm.x86.sse2.pause()",
    # 0x1f80: round to nearest, exceptions masked, subnormal numbers kept
    "enter": """%saved = alloca i32
  %ours = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  store i32 8064, ptr %ours
  call void @llvm.x86.sse.ldmxcsr(ptr %ours)""",
    "leave": "call void @llvm.x86.sse.ldmxcsr(ptr %saved)",
    "futex": "202",
}
_ARM = {
    "declare": """declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)""",
    "pause": "call void @llvm.aarch64.hint(i32 1)",
    "enter": """%saved = call i64 @llvm.aarch64.get.fpcr()
  call void @llvm.aarch64.set.fpcr(i64 0)""",
    "leave": "call void @llvm.aarch64.set.fpcr(i64 %saved)",
    "futex": "98",
}

_WORK = """
define void @work(ptr %job, ptr %arena) {
entry:
  <enter>
  %prun = getelementptr i64, ptr %job, i64 0
  %pslots = getelementptr i64, ptr %job, i64 1
  %pgrid = getelementptr i64, ptr %job, i64 2
  %pcontrol = getelementptr i64, ptr %job, i64 3
  %pnext = getelementptr i64, ptr %job, i64 4
  %plast = getelementptr i64, ptr %job, i64 5
  %pchunk = getelementptr i64, ptr %job, i64 6
  %pstatus = getelementptr i64, ptr %job, i64 8
  %run = load ptr, ptr %prun
  %slots = load ptr, ptr %pslots
  %grid = load ptr, ptr %pgrid
  %control = load ptr, ptr %pcontrol
  %end = load i64, ptr %plast
  %chunk = load i64, ptr %pchunk
  br label %take
take:
  %first = atomicrmw add ptr %pnext, i64 %chunk acq_rel
  %any = icmp slt i64 %first, %end
  br i1 %any, label %go, label %done
go:
  %to = add i64 %first, %chunk
  %over = icmp sgt i64 %to, %end
  %last = select i1 %over, i64 %end, i64 %to
  %status = call i64 %run(ptr %slots, ptr %grid, i64 %first, i64 %last, ptr %arena, ptr %control)
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %take, label %failed
failed:
  %old = atomicrmw or ptr %pstatus, i64 %status acq_rel
  br label %done
done:
  <leave>
  ret void
}
"""

_WORKERS = """
declare i64 @syscall(i64, ...)

define void @worker(ptr %s, ptr %parena, i64 %number, i64 %spins) {
entry:
  %psleeping = getelementptr i64, ptr %s, i64 1
  %pjob = getelementptr i64, ptr %s, i64 2
  %pend = getelementptr i64, ptr %s, i64 3
  %pepoch = getelementptr i8, ptr %s, i64 4
  br label %wait
wait:
  %seen = phi i64 [ 0, %entry ], [ %epoch, %closed ], [ %epoch, %left ]
  br label %spin
spin:
  %i = phi i64 [ 0, %wait ], [ %i2, %again ], [ 0, %sleep ]
  %ending = load atomic i64, ptr %pend acquire, align 8
  %out = icmp ne i64 %ending, 0
  br i1 %out, label %ended, label %look
look:
  %state = load atomic i64, ptr %s seq_cst, align 8
  %epoch = lshr i64 %state, 32
  %new = icmp ne i64 %epoch, %seen
  br i1 %new, label %join, label %again
again:
  %i2 = add i64 %i, 1
  <pause>
  %more = icmp ult i64 %i2, %spins
  br i1 %more, label %spin, label %sleep
sleep:
  %x1 = atomicrmw add ptr %psleeping, i64 1 seq_cst
  %seen32 = trunc i64 %seen to i32
  %x2 = call i64 (i64, ...) @syscall(i64 <futex>, ptr %pepoch, i64 128, i32 %seen32, ptr null, ptr null, i64 0)
  %x3 = atomicrmw sub ptr %psleeping, i64 1 seq_cst
  br label %spin
join:
  %current = phi i64 [ %state, %look ], [ %got, %try ]
  %bit = and i64 %current, 2147483648
  %open = icmp ne i64 %bit, 0
  %now = lshr i64 %current, 32
  %same = icmp eq i64 %now, %epoch
  %may = and i1 %open, %same
  br i1 %may, label %try, label %closed
try:
  %plus = add i64 %current, 1
  %pair = cmpxchg ptr %s, i64 %current, i64 %plus seq_cst seq_cst
  %got = extractvalue { i64, i1 } %pair, 0
  %ok = extractvalue { i64, i1 } %pair, 1
  br i1 %ok, label %in, label %join
closed:
  br label %wait
in:
  %job = load ptr, ptr %pjob
  %pwanted = getelementptr i64, ptr %job, i64 7
  %wanted = load i64, ptr %pwanted
  %mine = icmp slt i64 %number, %wanted
  br i1 %mine, label %go, label %leave
go:
  %arena = load ptr, ptr %parena
  call void @work(ptr %job, ptr %arena)
  br label %leave
leave:
  %before = atomicrmw sub ptr %s, i64 1 seq_cst
  %count = and i64 %before, 2147483647
  %last = icmp eq i64 %count, 1
  br i1 %last, label %wake, label %left
wake:
  %x4 = call i64 (i64, ...) @syscall(i64 <futex>, ptr %s, i64 129, i64 1, ptr null, ptr null, i64 0)
  br label %left
left:
  br label %wait
ended:
  ret void
}

define void @post(ptr %s, ptr %job) {
entry:
  %psleeping = getelementptr i64, ptr %s, i64 1
  %pjob = getelementptr i64, ptr %s, i64 2
  %pepoch = getelementptr i8, ptr %s, i64 4
  store ptr %job, ptr %pjob
  %old = load atomic i64, ptr %s seq_cst, align 8
  %epoch = lshr i64 %old, 32
  %next = add i64 %epoch, 1
  %high = shl i64 %next, 32
  %state = or i64 %high, 2147483648
  store atomic i64 %state, ptr %s seq_cst, align 8
  %sleeping = load atomic i64, ptr %psleeping seq_cst, align 8
  %any = icmp ne i64 %sleeping, 0
  br i1 %any, label %wake, label %done
wake:
  %x = call i64 (i64, ...) @syscall(i64 <futex>, ptr %pepoch, i64 129, i64 2147483647, ptr null, ptr null, i64 0)
  br label %done
done:
  ret void
}

define i64 @finish(ptr %s, ptr %job, i64 %nanoseconds) {
entry:
  %pnext = getelementptr i64, ptr %job, i64 4
  %plast = getelementptr i64, ptr %job, i64 5
  %pstatus = getelementptr i64, ptr %job, i64 8
  %time = alloca { i64, i64 }
  %pnano = getelementptr i8, ptr %time, i64 8
  store i64 0, ptr %time
  store i64 %nanoseconds, ptr %pnano
  %last = load i64, ptr %plast
  br label %check
check:
  %i = phi i64 [ 0, %entry ], [ %i2, %pausing ], [ 3999, %again ]
  %next = load atomic i64, ptr %pnext acquire, align 8
  %taken = icmp sge i64 %next, %last
  %status = load atomic i64, ptr %pstatus acquire, align 8
  %failed = icmp ne i64 %status, 0
  %closing = or i1 %taken, %failed
  br i1 %closing, label %close, label %busy
close:
  %x = atomicrmw and ptr %s, i64 -2147483649 seq_cst
  %active = and i64 %x, 2147483647
  %idle = icmp eq i64 %active, 0
  br i1 %idle, label %done, label %busy
busy:
  %i2 = add i64 %i, 1
  %spin = icmp ult i64 %i2, 4000
  br i1 %spin, label %pausing, label %sleep
pausing:
  <pause>
  br label %check
sleep:
  %word = load atomic i32, ptr %s seq_cst, align 8
  %next2 = load atomic i64, ptr %pnext seq_cst, align 8
  %taken2 = icmp sge i64 %next2, %last
  %status2 = load atomic i64, ptr %pstatus seq_cst, align 8
  %failed2 = icmp ne i64 %status2, 0
  %over = or i1 %taken2, %failed2
  %working = and i32 %word, 2147483647
  %none = icmp eq i32 %working, 0
  %missed = and i1 %over, %none
  br i1 %missed, label %again, label %rest
rest:
  %y = call i64 (i64, ...) @syscall(i64 <futex>, ptr %s, i64 128, i32 %word, ptr %time, ptr null, i64 0)
  %woken = icmp eq i64 %y, 0
  br i1 %woken, label %again, label %late
again:
  br label %check
late:
  ret i64 0
done:
  ret i64 1
}
"""


def text(target: Target) -> str:
    """Return the code for a target, with workers if it is Linux."""
    parts = _X86 if target.x86 else _ARM
    found = QUICKLY + "\n" + parts["declare"] + _WORK + (_WORKERS if "linux" in target.triple else "")
    for name, code in parts.items():
        found = found.replace(f"<{name}>", code)
    return found
