"""Barriers and fences keep the order that tokens ask for, whatever way a token takes.

The Triton IR runs without Triton, on an interpreter, which writes down accesses and barriers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

import tilery
from engines.triton.interpreter import Array, Interpreter
from support.race.brute_force import Recorder, graph
from tilery.engines.triton.config import DEVICE, HOST, Config
from tilery.engines.triton.lower import lower
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of
from tilery.sanitize import Access, Sanitizer


def text_of(text: str, config: Config | None = None) -> str:
    module = tilery.parse(text)
    return lower(module, module.entries[0], find_target("sm_90"), config or Config(), dialect_of("3.6.0")).text


class Tracer(Interpreter):
    """Writes down reads, writes and barriers."""

    def __init__(self, text: str) -> None:
        super().__init__(text, 64)
        self.trace: list[str] = []

    def execute(self, lines: Iterator[str]) -> list[Array]:
        for line in lines:
            if line.startswith(("scf.yield", "tt.return", "}")):
                return [self.values[name] for name in re.findall(r"%[\w#]+", line)]
            found = re.match(r"(?:(%\w+)(?::\d+)? = )?(scf\.\w+|tt\.load|tt\.store|gpu\.barrier|(?:\w|\.)+)", line)
            assert found is not None
            result, operation = found.groups()
            if operation == "gpu.barrier":
                self.trace.append("barrier")
            elif operation == "tt.store":
                self.trace.append("write")
            elif operation == "tt.load":
                self.trace.append("read")
                self.values[result] = np.int32(0)
            elif operation.startswith("scf."):
                self._structure(result, operation, line, lines)
            else:
                self.values[result] = self.evaluate(line.partition(" = ")[2])
        return []

    def _structure(self, result: str | None, operation: str, line: str, lines: Iterator[str]) -> None:
        parts = _regions(lines)
        if operation == "scf.if":
            chosen = 0 if self.values[re.findall(r"%[\w#]+", line.partition("scf.if")[2])[0]] else 1
            found = self.execute(iter(parts[chosen])) if chosen < len(parts) else []
        elif operation == "scf.for":
            found = self._for(line, parts[0])
        else:
            found = self._while(line, *parts)
        many = len(found) > 1
        self.values |= {f"{result}#{i}" if many else str(result): v for i, v in enumerate(found)}

    def _for(self, line: str, body: list[str]) -> list[Array]:
        bounds = re.search(r"scf.for (%\w+) = (%[\w#]+) to (%[\w#]+) step (%[\w#]+)", line)
        assert bounds is not None
        pairs = re.findall(r"(%\w+) = (%[\w#]+)", line.partition("iter_args")[2])
        state = [self.values[start] for _, start in pairs]
        for i in range(*(int(self.values[name]) for name in bounds.groups()[1:])):
            self.values |= {bounds[1]: np.int32(i)} | {name: v for (name, _), v in zip(pairs, state)}
            state = self.execute(iter(body))
        return state

    def _while(self, line: str, before: list[str], after: list[str]) -> list[Array]:
        pairs = re.findall(r"(%\w+) = (%[\w#]+)", line.partition("scf.while")[2].partition(" : ")[0])
        state = [self.values[start] for _, start in pairs]
        names = re.findall(r"(%\w+):", after[0])
        while True:
            self.values |= {name: v for (name, _), v in zip(pairs, state)}
            self.execute(iter(before[:-1]))
            going, *state = (self.values[name] for name in re.findall(r"%[\w#]+", before[-1]))
            if not going:
                return state
            self.values |= dict(zip(names, state))
            state = self.execute(iter(after[1:]))


def _regions(lines: Iterator[str]) -> list[list[str]]:
    """The lines of the regions of an operation, up to its end."""
    found: list[list[str]] = [[]]
    depth = 1
    for line in lines:
        depth -= line.startswith("}")
        if not depth and line not in ("} else {", "} do {"):
            break
        if depth:
            found[-1].append(line)
        else:
            found.append([])
        depth += line.endswith("{")
    return found


class Program:
    """A kernel of scalar accesses to one word, in branches and loops that depend on parameters."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.count, self.budget = 0, self.rng.randint(3, 10)
        self.arguments = [self.rng.choice((0, 0, 1, 2)) for _ in range(3)]
        self.body(["start"], 0, "")

    @property
    def text(self) -> str:
        body = "\n".join(self.lines)
        return f"""entry @k(%p: tile<ptr<i32>>, %n0: tile<i32>, %n1: tile<i32>, %n2: tile<i32>) {{
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %start = make_token : token
{body}
  return
}}"""

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def body(self, tokens: list[str], depth: int, leave: str) -> None:
        """Write some operations; `leave` says how to leave the loop around them early."""
        for _ in range(self.rng.randint(0 if depth else 4, 4 if depth else 9)):
            if self.budget <= 0:
                return
            kind = self.rng.random()
            if kind < 0.15 and depth < 3:
                self.branch(tokens, depth, leave)
            elif kind < 0.3 and depth < 3:
                self.loop(tokens, depth)
            elif kind < 0.4 and depth < 3:
                self.endless(tokens, depth)
            elif kind < 0.5:
                made = self.name()
                self.emit(f"%{made} = join_tokens %{self.rng.choice(tokens)}, %{self.rng.choice(tokens)} : token")
                tokens.append(made)
            else:
                self.access(tokens)

    def access(self, tokens: list[str]) -> None:
        self.budget -= 1
        made, token = self.name(), self.rng.choice(tokens[-3:])
        if self.rng.random() < 0.5:
            value = self.name()
            self.emit(f"%{value}, %{made} = load_ptr_tko weak %p token=%{token} : tile<ptr<i32>> -> tile<i32>, token")
        else:
            self.emit(f"%{made} = store_ptr_tko weak %p, %one token=%{token} : tile<ptr<i32>>, tile<i32> -> token")
        tokens.append(made)

    def follow(self, tokens: list[str], made: str) -> None:
        """Use a token that control flow makes, often at once."""
        tokens.append(made)
        if self.rng.random() < 0.7:
            self.access([made])

    def condition(self) -> str:
        made, which = self.name(), self.rng.randrange(3)
        self.emit(f"%{made} = cmpi greater_than %n{which}, %zero, signed : tile<i32> -> tile<i1>")
        return made

    def branch(self, tokens: list[str], depth: int, leave: str) -> None:
        condition, made = self.condition(), self.name()
        if leave and self.rng.random() < 0.5:
            self.emit(f"if %{condition} {{")
            inner = list(tokens)
            self.body(inner, depth + 1, leave)
            self.emit(leave.format(self.rng.choice(inner)))
            self.emit("}")
            return
        self.emit(f"%{made} = if %{condition} -> (token) {{")
        for word in ("} else {", "}"):
            inner = list(tokens)
            self.body(inner, depth + 1, leave)
            self.emit(f"yield %{self.rng.choice(inner)} : token")
            self.emit(word)
        self.follow(tokens, made)

    def loop(self, tokens: list[str], depth: int) -> None:
        index, carried, made = self.name(), self.name(), self.name()
        self.emit(f"%{made} = for %{index} in (%zero to %n{self.rng.randrange(3)}, step %one) : tile<i32>")
        self.emit(f"iter_values(%{carried} = %{self.rng.choice(tokens[-2:])}) -> (token) {{")
        inner = [*tokens, carried]
        self.body(inner, depth + 1, "continue %{} : token")
        self.emit(f"continue %{self.rng.choice(inner)} : token")
        self.emit("}")
        self.follow(tokens, made)

    def endless(self, tokens: list[str], depth: int) -> None:
        """A loop that ends after a number of iterations, by `break`."""
        number, carried, made, last, after = (self.name() for _ in range(5))
        starts = f"%{number} = %zero, %{carried} = %{self.rng.choice(tokens)}"
        self.emit(f"%{made} = loop iter_values({starts}) : tile<i32>, token -> token {{")
        inner = [*tokens, carried]
        self.body(inner, depth + 1, "break %{} : token")
        self.emit(f"%{last} = cmpi greater_than_or_equal %{number}, %n{self.rng.randrange(3)}, signed : "
                  "tile<i32> -> tile<i1>")  # fmt: skip
        self.emit(f"if %{last} {{")
        self.emit(f"break %{self.rng.choice(inner)} : token")
        self.emit("}")
        self.body(inner, depth + 1, "break %{} : token")
        self.emit(f"%{after} = addi %{number}, %one : tile<i32>")
        self.emit(f"continue %{after}, %{self.rng.choice(inner)} : tile<i32>, token")
        self.emit("}")
        self.follow(tokens, made)


def unordered(text: str, arguments: list[int]) -> list[tuple[int, int]]:
    """The pairs of accesses of a kernel that tokens order, one of which writes, without a barrier between them."""
    watched = Sanitizer("alignment", more=[Recorder])
    word = np.zeros(1, np.int32)
    tilery.compile(tilery.parse(text)).launch(1, [word, *arguments], sanitize=watched)
    events = [e for e in Recorder.events if isinstance(e, Access)]
    before = graph(Recorder.events).before()
    tracer = Tracer(text_of(text))
    tracer.run((0, 0, 0), arg0=0, **{f"arg{i + 1}": n for i, n in enumerate(arguments)})
    places = [i for i, event in enumerate(tracer.trace) if event != "barrier"]
    assert [tracer.trace[i] for i in places] == [e.kind.value for e in events]
    return [
        (a, b)
        for b in range(len(events))
        for a in range(b)
        if before[b] >> a & 1
        and (events[a].writes or events[b].writes)
        and "barrier" not in tracer.trace[places[a] : places[b]]
    ]


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_a_barrier_is_between_what_tokens_order(start: int) -> None:
    """Random programs: every path of tokens from one access to another, one of which writes, crosses a barrier."""
    accesses = 0
    for seed in range(start, start + 50):
        made = Program(seed)
        assert unordered(made.text, made.arguments) == [], made.text
        accesses += made.text.count("_ptr_tko")
    assert accesses > 250


LOAD = "%x, %{} = load_ptr_tko {} %p token=%{} : tile<ptr<i32>> -> tile<i32>, token"
STORE = "%{} = store_ptr_tko weak %p, %one token=%{} : tile<ptr<i32>>, tile<i32> -> token"
FOR = """%{} = for %i in (%zero to %n0, step %one) : tile<i32> iter_values(%t = %{}) -> (token) {{
  {}
  continue %{} : token }}"""
PATHS = {
    "a loop that only carries": (STORE.format("a", "start"), FOR.format("b", "a", "", "t")),
    "a loop that may not run": (STORE.format("a", "start"), FOR.format("b", "a", LOAD.format("u", "weak", "t"), "u")),
    "a token from outside": (STORE.format("a", "start"), FOR.format("b", "start", "", "a")),
    "an acquiring load in a loop": (
        "%b = loop iter_values(%t = %start) : token -> token {",
        LOAD.format("u", "acquire device", "t"),
        "break %u : token }",
    ),
}  # fmt: skip
"""Ways of a token from what the access after it must wait for."""


@pytest.mark.parametrize("name", PATHS)
def test_a_barrier_is_after_the_loop(name: str) -> None:
    """What is ordered before a loop, or in it, is also ordered before what follows it."""
    body = "\n".join(PATHS[name])
    lines = text_of(
        f"""entry @k(%p: tile<ptr<i32>>, %n0: tile<i32>) {{
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %start = make_token : token
  {body}
  %y, %z = load_ptr_tko weak %p token=%b : tile<ptr<i32>> -> tile<i32>, token
  return
}}"""
    ).splitlines()
    last = max(i for i, line in enumerate(lines) if "tt.load" in line)
    closed = max(i for i, line in enumerate(lines[:last]) if line.strip().startswith("}"))
    assert any("gpu.barrier" in line for line in lines[closed:last])


VIEW = "partition_view<tile=(64x64), tensor_view<?x64xf32, strides=[64,1]>>"
MAPPED = f"""entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {{{{
  %base = assume div_by<16>, %p : tile<ptr<f32>>
  %s = make_tensor_view %base, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %v = make_partition_view %s : {VIEW}
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <f32: 1.0> : tile<64x64xf32>
  %start = make_token : token
  {{}}
  return
}}}}"""
SCALAR = "%w, %{} = load_ptr_tko weak %q token=%{} : tile<ptr<f32>> -> tile<f32>, token"
TILE = (
    f"%x{{0}}, %{{0}} = load_view_tko weak %v[%zero, %zero] token=%{{1}} : {VIEW}, tile<i32> -> tile<64x64xf32>, token"
)
WRITE = f"%{{}} = store_view_tko weak %one, %v[%zero, %zero] token=%{{}} : tile<64x64xf32>, {VIEW}, tile<i32> -> token"


@pytest.mark.parametrize("views", [HOST, DEVICE])
def test_tensor_maps_do_not_load_what_the_kernel_wrote(views: str) -> None:
    """Copies through tensor maps take another path to memory: no barrier orders them after a store."""
    config = Config(views=views)

    def kinds(*body: str) -> list[str]:
        return re.findall(
            r"tt\.descriptor_(?:load|store)|tt\.load|tt\.store", text_of(MAPPED.format("\n".join(body)), config)
        )

    load, read, store = TILE.format("b", "a"), SCALAR.format("a", "start"), WRITE.format("a", "start")
    assert kinds(read, load) == ["tt.load", "tt.descriptor_load"]
    assert kinds(store, load) == ["tt.store", "tt.load"]
    assert kinds(store, TILE.format("b", "a"), TILE.format("c", "b")) == ["tt.store", "tt.load", "tt.load"]
    between = FOR.replace("%n0, step %one", "%n, step %n").replace("(%zero", "(%n").format("b", "a", "", "t")
    assert kinds(store, between, TILE.format("c", "b")) == ["tt.store", "tt.load"]


def test_a_store_through_a_tensor_map_is_fenced_from_other_accesses() -> None:
    config = Config(views=HOST)
    read = text_of(MAPPED.format(SCALAR.format("a", "start") + "\n  " + WRITE.format("b", "a")), config)
    assert read.index("tt.load") < read.index("fence.proxy.async;") < read.index("tt.descriptor_store")
    mapped = text_of(MAPPED.format(TILE.format("a", "start") + "\n  " + WRITE.format("b", "a")), config)
    assert "tt.descriptor_load" in mapped and "tt.descriptor_store" in mapped and "fence.proxy" not in mapped
    alone = text_of(MAPPED.format(SCALAR.format("a", "start") + "\n  " + WRITE.format("b", "start")), config)
    assert "tt.descriptor_store" in alone and "fence.proxy" not in alone
    carried = FOR.replace("%n0, step %one", "%n, step %n").replace("(%zero", "(%n")
    around = carried.format("b", "start", SCALAR.format("u", "t"), "u") + "\n  " + WRITE.format("c", "b")
    assert "fence.proxy.async;" in text_of(MAPPED.format(around), config)
