"""Broken texts with the beginnings of their errors, and the operations that recovery reads."""

from __future__ import annotations

import pytest

from tilery import walk
from tilery.text.lossless.reading import read

CASES = [
    (
        """\
entry @k() {
  %a = constant <i32: 1> : tile<i32>
  }
  %b = addi %a, %a : tile<i32>
  return
}
""",
        [
            "3:3 unexpected '}': no region starts here",
        ],
        "module entry constant addi return",
    ),
    (
        """\
entry @k() {
  }
}
""",
        [
            "3:1 unexpected '}': no region starts here",
        ],
        "module entry return",
    ),
    (
        """\
}
entry @k() {
  return
}
""",
        [
            "1:1 unexpected '}': no region starts here",
        ],
        "module entry return",
    ),
    (
        """\
} } entry @k() {
  return
}
""",
        [
            "1:1 unexpected '}': no region starts here",
            "1:3 unexpected '}': no region starts here",
        ],
        "module entry return",
    ),
    (
        """\
entry @k() {
  loop {
    %a = constant <i32: 1> : tile<i32>
    break
  %b = constant <i32: 2> : tile<i32>
  return
}
entry @l() {
  return
}
""",
        [
            "2:8 expected '}' to end this region",
            "5:5 expected ':'",
        ],
        "module entry return entry return",
    ),
    (
        """\
entry @k() {
  %c = constant <i1: true> : tile<i1>
  if %d {
    %a = constant <i32: 1> : tile<i32>
    yield
  } else {
    %b = constant <i32: 2> : tile<i32>
  }
  return
}
""",
        [
            "3:6 use of undeclared SSA value name",
        ],
        "module entry constant if constant yield constant yield return",
    ),
    (
        """\
entry @k() {
  %c = constant <i1: true> : tile<i1>
  iff %c {
    %a = constant <i32: 1> : tile<i32>
    %e = addi %a, %q : tile<i32>
  } else {
    %b = addi %a, %a : tile<i32>
  }
  return
}
""",
        [
            "3:3 custom op 'iff' is unknown (tried 'cuda_tile.iff' as well)",
            "5:19 use of undeclared SSA value name",
            "7:15 use of undeclared SSA value name",
        ],
        "module entry constant <<broken>> constant addi addi return",
    ),
    (
        """\
entry @k() {
  for %i in (%x to %y, step %z) : tile<i32>
    %a = addi %i, %i : tile<i32>
    continue
  }
  return
}
""",
        [
            "2:44 expected '{' to begin a region",
        ],
        "module entry <<broken>> addi continue return",
    ),
    (
        """\
entry @k() {
  %a = constant <i32: 1> : tile<i32>
  %b = addi %a,
  %c = addi %a, %a : tile<i32>
  %d = addi %b, %c : tile<i32>
  return
}
""",
        [
            "4:5 expected ':'",
        ],
        "module entry constant addi addi return",
    ),
    (
        """\
entry @k() {
  %a = addi %x, {
    b = 1 : i32 } : tile<i32>
  %c = addi %a, %a : tile<i32>
  return
}
""",
        [
            "2:16 expected SSA operand",
        ],
        "module entry addi return",
    ),
    (
        """\
entry @k() {
  %t = bogus {
    %a = constant <i32: 1> : tile<i32>
    %b = addi %a, %a : tile<f32>
  }
  return
}
""",
        [
            "2:8 custom op 'bogus' is unknown (tried 'cuda_tile.bogus' as well)",
            "4:15 use of value '%a' expects different type than prior uses",
        ],
        "module entry <<broken>> constant return",
    ),
    (
        """\
entry @k() {
  bogus { %a = constant <i32: 1> : tile<i32> }
  return
}
""",
        [
            "2:3 custom op 'bogus' is unknown (tried 'cuda_tile.bogus' as well)",
        ],
        "module entry <<broken>> constant return",
    ),
    (
        """\
entry @k() {
  bogus {}
  %b = addi %a, %a : tile<i32>
  return
}
""",
        [
            "2:3 custom op 'bogus' is unknown (tried 'cuda_tile.bogus' as well)",
            "3:13 use of undeclared SSA value name",
        ],
        "module entry addi return",
    ),
    (
        """\
entry @k() {
  %a = constant <i32: 1> : tile<i32> %
  %1, = addi %a, %a : tile<i32>
  return
}
""",
        [
            "2:38 invalid SSA name",
            "3:6 expected valid ssa identifier",
        ],
        "module entry constant return",
    ),
    (
        """\
entry @k(%p: tile<ptr<f32>> {
  return
}
entry @l() { return }
""",
        [
            "3:2 expected ')'",
        ],
        "module entry return",
    ),
    (
        """\
entry @k() {
  return
}
{
entry @l() { return }
""",
        [
            "3:2 expected operation name in quotes",
            "4:1 expected '}' to end this region",
            "4:2 expected attribute name",
        ],
        "module entry return",
    ),
    (
        """\
entry @k() {
    %a = constant <i32: 1> : tile<i32>
      }
    %b = addi %a, %a : tile<i32>
    return
}
""",
        [
            "3:7 unexpected '}': no region starts here",
        ],
        "module entry constant addi return",
    ),
    (
        """\
entry @k() {
  %a = constant <i32: 1> : tile<i32>
  "x"(%a) {
  return
}
entry @l() {
  return
}
""",
        [
            "3:6 operation being parsed with an unregistered dialect",
            "3:11 expected '}' to end this region",
        ],
        "module entry constant return entry return",
    ),
    (
        """\
#l = loc("a":1:1)
entry @k() {
  %a = constant <i32: 1 : tile<i32> loc(#l)
  return
}
#m = loc(#n)
""",
        [
            "3:24 expected '>'",
            "6:12 undefined symbol alias id 'n'",
        ],
        "module entry return",
    ),
    (
        """\
cuda_tile.module @m {
  entry @k() {
    %a = addi %b, %b : tile<i32>
  }
""",
        [
            "1:21 expected '}' to end this region",
            "3:15 use of undeclared SSA value name",
        ],
        "module entry addi return",
    ),
    (
        """\
cuda_tile.module @m {
  entry @k() {
    loop {
      %a = constant <i32: 1> : tile<i32>
  entry @l() {
    return
  }
}
""",
        [
            "2:14 expected '}' to end this region",
            "3:10 expected '}' to end this region",
        ],
        "module entry return",
    ),
    (
        """\
entry @k() {
  %r = if %c -> (tile<i32>) {
    yield %x : tile<i32>
  } else {
  %s = addi %r, %r : tile<i32>
  return
}
""",
        [
            "3:11 use of undeclared SSA value name",
            "4:10 expected '}' to end this region",
        ],
        "module entry return",
    ),
    (
        """\
entry @k() {
  if %c
    %a = constant <i32: 1> : tile<i32>
    yield
  return
}
""",
        [
            "1:12 expected '}' to end this region",
            "2:8 expected '{' to begin a region",
        ],
        "module",
    ),
]


@pytest.mark.parametrize(("text", "errors", "operations"), CASES)
def test_recovery(text: str, errors: list[str], operations: str) -> None:
    reading = read(text)
    found = [f"{line_and_column(text, error.start)} {error.message}" for error in reading.errors]
    assert len(found) == len(errors) and all(map(str.startswith, found, errors))
    assert " ".join(o.name for o in walk(reading.module)) == operations


def line_and_column(text: str, at: int) -> str:
    return f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"
