"""Search for bytes in the memory that a kernel may access: the segments of the launch, and its own `alloca`s."""

from .abi import STOP

FIND = """
define internal i1 @search(ptr %table, i64 %low, i64 %high, i1 %writes) nounwind {
entry:
  %count = load i64, ptr %table
  br label %head
head:
  %first = phi i64 [ 0, %entry ], [ %above, %halve ]
  %end = phi i64 [ %count, %entry ], [ %below, %halve ]
  %more = icmp ult i64 %first, %end
  br i1 %more, label %halve, label %last
halve:
  %sum = add i64 %first, %end
  %middle = lshr i64 %sum, 1
  %after = add i64 %middle, 1
  %at = mul i64 %middle, 3
  %at1 = add i64 %at, 1
  %plow = getelementptr i64, ptr %table, i64 %at1
  %l = load i64, ptr %plow
  %begun = icmp ule i64 %l, %low
  %above = select i1 %begun, i64 %after, i64 %first
  %below = select i1 %begun, i64 %end, i64 %middle
  br label %head
last:
  %any = icmp ne i64 %first, 0
  br i1 %any, label %compare, label %none
compare:
  %next = mul i64 %first, 3
  %next1 = sub i64 %next, 1
  %phigh = getelementptr i64, ptr %table, i64 %next1
  %pwrite = getelementptr i64, ptr %table, i64 %next
  %h = load i64, ptr %phigh
  %wr = load i64, ptr %pwrite
  %c1 = icmp ule i64 %high, %h
  %c2 = icmp ult i64 %low, %high
  %may = icmp ne i64 %wr, 0
  %reads = xor i1 %writes, true
  %c3 = or i1 %may, %reads
  %a = and i1 %c1, %c2
  %b = and i1 %a, %c3
  ret i1 %b
none:
  ret i1 false
}

define internal i1 @find(ptr %slots, i64 %own, i64 %low, i64 %high, i1 %writes) nounwind noinline {
  %table = getelementptr i64, ptr %slots, i64 TABLE
  %found = call i1 @search(ptr %table, i64 %low, i64 %high, i1 %writes)
  br i1 %found, label %yes, label %allocas
allocas:
  %first = sub i64 %low, %own
  %end = sub i64 %high, %own
  %mine = call i1 @search(ptr @allocas, i64 %first, i64 %end, i1 %writes)
  ret i1 %mine
yes:
  ret i1 true
}
"""
"""Whether bytes are in a segment of the launch, or in an `alloca`.

Tables are counts, then bounds and permissions of segments in the order of their addresses.
"""
FIND_EACH = f"""
define internal i64 @find_each(ptr %slots, i64 %own, ptr %control, ptr %box, i64 %rank, i64 %start, i64 %item,
                              i1 %writes) nounwind noinline {{
entry:
  %pstop = getelementptr i64, ptr %control, i64 {STOP}
  br label %sizes
sizes:
  %s = phi i64 [ 0, %entry ], [ %s1, %size ]
  %total = phi i64 [ 1, %entry ], [ %product, %size ]
  %sizing = icmp ult i64 %s, %rank
  br i1 %sizing, label %size, label %elements
size:
  %s1 = add i64 %s, 1
  %sat = mul i64 %s, 2
  %psize = getelementptr i64, ptr %box, i64 %sat
  %count = load i64, ptr %psize
  %product = mul i64 %total, %count
  br label %sizes
elements:
  %i = phi i64 [ 0, %sizes ], [ %i1, %next ]
  %more = icmp ult i64 %i, %total
  br i1 %more, label %look, label %yes
look:
  %stop = load atomic i64, ptr %pstop monotonic, align 8
  %stops = icmp ne i64 %stop, 0
  br i1 %stops, label %stopped, label %dims
dims:
  %d = phi i64 [ 0, %look ], [ %d1, %dim ]
  %rest = phi i64 [ %i, %look ], [ %quotient, %dim ]
  %at = phi i64 [ %start, %look ], [ %moved, %dim ]
  %placing = icmp ult i64 %d, %rank
  br i1 %placing, label %dim, label %element
dim:
  %d1 = add i64 %d, 1
  %dat = mul i64 %d, 2
  %dat1 = add i64 %dat, 1
  %pcount = getelementptr i64, ptr %box, i64 %dat
  %pstride = getelementptr i64, ptr %box, i64 %dat1
  %n = load i64, ptr %pcount
  %stride = load i64, ptr %pstride
  %quotient = udiv i64 %rest, %n
  %index = urem i64 %rest, %n
  %offset = mul i64 %index, %stride
  %moved = add i64 %at, %offset
  br label %dims
element:
  %end = add i64 %at, %item
  %found = call i1 @find(ptr %slots, i64 %own, i64 %at, i64 %end, i1 %writes)
  br i1 %found, label %next, label %none
next:
  %i1 = add i64 %i, 1
  br label %elements
yes:
  ret i64 0
none:
  ret i64 1
stopped:
  ret i64 -1
}}
"""
"""Look for every element of a box: 0 if all are found, 1 if one is not, and -1 if the launch is to stop.

The box has a count, at least 1, and a stride in bytes per dimension.
"""
