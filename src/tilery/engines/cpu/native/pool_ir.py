"""LLVM IR of the code that takes tile blocks and shares them between threads.

`work` runs tile blocks of a job until none are left or some time has passed; any thread may call it. On Linux, `worker`
waits in native code for jobs, so that starting one takes a microsecond, and `drive` runs a job from its first tile
block to its last: it offers the job to workers, takes part or waits, and lets Python handle signals meanwhile.

Python calls `drive` holding the GIL, and an exception that a signal raises is left for Python to find when `drive`
returns. It returns only after every worker has left the job, so nothing that is raised can end a launch before.

A job is 8-byte words, see the indices below. The shared state of a crew of workers is

    0  epoch << 32 | open << 31 | active workers
    1  how many workers sleep
    2  the job
    3  1 to end the workers
    4  1 while a caller of `drive` uses the crew

A worker joins a job only while it is open, so that no job waits for one that wakes up late. The words of the process,
which all crews share, are

    0  how many callers are inside `drive`
    1  1 when the interpreter exits: no job may start
    2  the addresses of PyEval_SaveThread, PyEval_RestoreThread and PyErr_CheckSignals
"""

from __future__ import annotations

from ..abi import QUICKLY, Target

RUN, SLOTS, GRID, CONTROL, NEXT, LAST, CHUNK, WANTED, STATUS, ARENA, STRIDE, OWN_SLOTS, PARTS, QUEUES = range(14)
"""The words of a job. Tile blocks are in PARTS parts, one for each thread, which takes CHUNK of them at a time, and
then those that others have left: a thread most often works on the memory that it worked on in the launch before. QUEUES
is the address of the parts, each with the next tile block and the end, on lines of their own. NEXT becomes LAST when
all are taken. Worker n joins if n < WANTED, and begins with part n; the calling thread begins with the last one. STATUS
collects what `run` returned. The arena of worker n is n * STRIDE bytes after ARENA. If OWN_SLOTS is not 0, each thread
has slots of its own, that many bytes after the beginning of its arena."""
JOB_WORDS = 16
QUEUE_WORDS = 8
BUSY, FINISHED, EXPIRED, CLOSED = range(4)
"""The results of `drive`: another caller uses the crew; all tile blocks ran, or the status says why not; the time was
over; the interpreter exits."""
TAKES_PART, ALTHOUGH_CLOSED = 1, 2
"""The bits of the mode of `drive`."""
PROCESS_WORDS = 8
SHARED_WORDS = 16
SYMBOLS = frozenset({"syscall"})
"""The functions of the C library that the code calls."""

_X86 = {
    "declare": """declare void @llvm.x86.sse2.pause()
declare i64 @llvm.readcyclecounter()
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
    "clock": "228",
    "sleep": "35",
    "ticks": "call i64 @llvm.readcyclecounter()",
    "brief": "add i64 0, 50000000",
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
    "clock": "113",
    "sleep": "101",
    # There is no counter of cycles that every program may read.
    "ticks": "call i64 @now()",
    "brief": "add i64 0, 20000000",
}

_WORK = """
define i64 @work(ptr %job, ptr %arena, i64 %who, i64 %briefly) {
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
  %common = load ptr, ptr %pslots
  %pown = getelementptr i64, ptr %job, i64 11
  %skip = load i64, ptr %pown
  %shared = icmp eq i64 %skip, 0
  %own = getelementptr i8, ptr %arena, i64 %skip
  %slots = select i1 %shared, ptr %common, ptr %own
  %grid = load ptr, ptr %pgrid
  %control = load ptr, ptr %pcontrol
  %total = load i64, ptr %plast
  %chunk = load i64, ptr %pchunk
  %pparts = getelementptr i64, ptr %job, i64 12
  %pqueues = getelementptr i64, ptr %job, i64 13
  %parts = load i64, ptr %pparts
  %queues = load ptr, ptr %pqueues
  %timed = icmp ne i64 %briefly, 0
  %start = <ticks>
  %brief = <brief>
  br label %take
take:
  %part = phi i64 [ %who, %entry ], [ %part, %again ], [ %part, %look ], [ %following, %other ]
  %empty = phi i64 [ 0, %entry ], [ 0, %again ], [ 0, %look ], [ %more, %other ]
  %skipped = mul i64 %part, 64
  %queue = getelementptr i8, ptr %queues, i64 %skipped
  %pend = getelementptr i8, ptr %queue, i64 8
  %end = load i64, ptr %pend
  %seen = load atomic i64, ptr %queue monotonic, align 8
  %left = icmp slt i64 %seen, %end
  br i1 %left, label %try, label %none
try:
  %first = atomicrmw add ptr %queue, i64 %chunk acq_rel
  %any = icmp slt i64 %first, %end
  br i1 %any, label %go, label %none
none:
  %more = add i64 %empty, 1
  %over = icmp sge i64 %more, %parts
  br i1 %over, label %taken, label %other
other:
  %after = add i64 %part, 1
  %wraps = icmp sge i64 %after, %parts
  %following = select i1 %wraps, i64 0, i64 %after
  br label %take
taken:
  store atomic i64 %total, ptr %pnext release, align 8
  br label %done
go:
  %to = add i64 %first, %chunk
  %beyond = icmp sgt i64 %to, %end
  %last = select i1 %beyond, i64 %end, i64 %to
  %status = call i64 %run(ptr %slots, ptr %grid, i64 %first, i64 %last, ptr %arena, ptr %control)
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %again, label %failed
again:
  br i1 %timed, label %look, label %take
look:
  %now = <ticks>
  %spent = sub i64 %now, %start
  %late = icmp ugt i64 %spent, %brief
  br i1 %late, label %done, label %take
failed:
  %old = atomicrmw or ptr %pstatus, i64 %status acq_rel
  br label %done
done:
  %all = phi i64 [ 1, %taken ], [ 0, %look ], [ 1, %failed ]
  <leave>
  ret i64 %all
}
"""

_GATHER = """
define void @gather_N(ptr %to, ptr %from, i64 %count) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %p = getelementptr iN, ptr %from, i64 %i
  %x = load iN, ptr %p
  %none = icmp eq iN %x, 0
  br i1 %none, label %next, label %add
add:
  %q = getelementptr iN, ptr %to, i64 %i
  %old = atomicrmw add ptr %q, iN %x seq_cst
  br label %next
next:
  br label %head
done:
  ret void
}
"""
"""Add integers of N bits to those in memory that other launches may use."""

_WORKERS = """
declare i64 @syscall(i64, ...)

define void @worker(ptr %s, i64 %number, i64 %spins) {
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
  %parena = getelementptr i64, ptr %job, i64 9
  %pstride = getelementptr i64, ptr %job, i64 10
  %arenas = load ptr, ptr %parena
  %stride = load i64, ptr %pstride
  %skip = mul i64 %number, %stride
  %arena = getelementptr i8, ptr %arenas, i64 %skip
  %x0 = call i64 @work(ptr %job, ptr %arena, i64 %number, i64 0)
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

define void @halt(ptr %job) {
entry:
  %pcontrol = getelementptr i64, ptr %job, i64 3
  %pstatus = getelementptr i64, ptr %job, i64 8
  %control = load ptr, ptr %pcontrol
  store atomic i64 1, ptr %control seq_cst, align 8
  %x = atomicrmw or ptr %pstatus, i64 1 seq_cst
  ret void
}

define i64 @now() {
entry:
  %time = alloca { i64, i64 }
  %x = call i64 (i64, ...) @syscall(i64 <clock>, i64 1, ptr %time)
  %pnano = getelementptr i8, ptr %time, i64 8
  %seconds = load i64, ptr %time
  %nano = load i64, ptr %pnano
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %nano
  ret i64 %sum
}

define void @idle(ptr %process) {
entry:
  %time = alloca { i64, i64 }
  %pnano = getelementptr i8, ptr %time, i64 8
  store i64 0, ptr %time
  store i64 1000000, ptr %pnano
  br label %look
look:
  %inside = load atomic i64, ptr %process seq_cst, align 8
  %none = icmp eq i64 %inside, 0
  br i1 %none, label %done, label %sleep
sleep:
  %x = call i64 (i64, ...) @syscall(i64 <sleep>, ptr %time, ptr null)
  br label %look
done:
  ret void
}

define void @let_go(ptr %s, ptr %process) {
entry:
  %alone = icmp eq ptr %s, null
  br i1 %alone, label %leave, label %release
release:
  %pbusy = getelementptr i64, ptr %s, i64 4
  store atomic i64 0, ptr %pbusy seq_cst, align 8
  br label %leave
leave:
  %x = atomicrmw sub ptr %process, i64 1 seq_cst
  ret void
}

define i64 @drive(ptr %s, ptr %job, ptr %arena, i64 %mode, i64 %deadline, i64 %slice, ptr %process) {
entry:
  %state = alloca ptr
  %raised = alloca i64
  %result = alloca i64
  store i64 0, ptr %raised
  store i64 1, ptr %result
  %pbusy = getelementptr i64, ptr %s, i64 4
  %pclosed = getelementptr i64, ptr %process, i64 1
  %psave = getelementptr i64, ptr %process, i64 2
  %prestore = getelementptr i64, ptr %process, i64 3
  %pcheck = getelementptr i64, ptr %process, i64 4
  %save = load ptr, ptr %psave
  %restore = load ptr, ptr %prestore
  %check = load ptr, ptr %pcheck
  %alone = icmp eq ptr %s, null
  %part = and i64 %mode, 1
  %takes = icmp ne i64 %part, 0
  %timed = icmp ne i64 %deadline, 0
  br i1 %alone, label %enter, label %claim
claim:
  %pair = cmpxchg ptr %pbusy, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %enter, label %busy
busy:
  ret i64 0
enter:
  %x0 = atomicrmw add ptr %process, i64 1 seq_cst
  %closed = load atomic i64, ptr %pclosed seq_cst, align 8
  %over = icmp ne i64 %closed, 0
  %bit = and i64 %mode, 2
  %strict = icmp eq i64 %bit, 0
  %refused = and i1 %over, %strict
  br i1 %refused, label %refuse, label %begin
refuse:
  store i64 3, ptr %result
  call void @let_go(ptr %s, ptr %process)
  br label %leave
begin:
  %t0 = call ptr %save()
  store ptr %t0, ptr %state
  br i1 %alone, label %go, label %offer
offer:
  call void @post(ptr %s, ptr %job)
  br label %go
go:
  br i1 %takes, label %working, label %waiting
working:
  %pparts = getelementptr i64, ptr %job, i64 12
  %parts = load i64, ptr %pparts
  %own = sub i64 %parts, 1
  %all = call i64 @work(ptr %job, ptr %arena, i64 %own, i64 1)
  %exhausted = icmp ne i64 %all, 0
  br i1 %exhausted, label %waiting, label %look
waiting:
  br i1 %alone, label %left, label %measure
measure:
  br i1 %timed, label %shorten, label %rest
shorten:
  %n1 = call i64 @now()
  %d1 = sub i64 %deadline, %n1
  %none = icmp slt i64 %d1, 1
  %d2 = select i1 %none, i64 1, i64 %d1
  %less = icmp slt i64 %d2, %slice
  %d3 = select i1 %less, i64 %d2, i64 %slice
  br label %rest
rest:
  %pause = phi i64 [ %slice, %measure ], [ %d3, %shorten ]
  %ready = call i64 @finish(ptr %s, ptr %job, i64 %pause)
  %finished = icmp ne i64 %ready, 0
  br i1 %finished, label %left, label %look
look:
  br i1 %timed, label %clock, label %signals
clock:
  %n2 = call i64 @now()
  %late = icmp sge i64 %n2, %deadline
  br i1 %late, label %expire, label %signals
expire:
  store i64 2, ptr %result
  call void @halt(ptr %job)
  br label %signals
signals:
  %seen = load i64, ptr %raised
  %already = icmp ne i64 %seen, 0
  br i1 %already, label %go, label %ask
ask:
  %t1 = load ptr, ptr %state
  call void %restore(ptr %t1)
  %error = call i32 %check()
  %t2 = call ptr %save()
  store ptr %t2, ptr %state
  %bad = icmp ne i32 %error, 0
  br i1 %bad, label %raise, label %go
raise:
  store i64 1, ptr %raised
  call void @halt(ptr %job)
  br label %go
left:
  call void @let_go(ptr %s, ptr %process)
  %t3 = load ptr, ptr %state
  call void %restore(ptr %t3)
  br label %leave
leave:
  %code = load i64, ptr %result
  ret i64 %code
}
"""


def text(target: Target) -> str:
    """Return the code for a target, with workers if it is Linux."""
    parts = _X86 if target.x86 else _ARM
    if "linux" not in target.triple:
        parts = parts | {"ticks": "add i64 0, 0"}
    gather = "".join(_GATHER.replace("N", bits) for bits in ("32", "64"))
    found = QUICKLY + "\n" + parts["declare"] + _WORK + gather + (_WORKERS if "linux" in target.triple else "")
    for name, code in parts.items():
        found = found.replace(f"<{name}>", code)
    return found
