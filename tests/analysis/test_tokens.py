"""Token order: examples, and the law that what is ordered has happened before on every path."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from support.contract import random_case
from tilery import parse
from tilery.analysis.tokens import TokenOrder, is_token_ordered
from tilery.ir import Block, Op, Value, walk
from tilery.ops import Break, Continue, Entry, For, If, JoinTokens, Loop, Return
from tilery.types import Token

STORE = "store_ptr_tko weak %p, %n"
TYPES = " : tile<ptr<i32>>, tile<i32> -> token"


def entry_of(body: str) -> Entry:
    return parse(f"entry @k(%p: tile<ptr<i32>>, %n: tile<i32>, %c: tile<i1>) {{ {body} return }}").entries[0]


def order_of(body: str) -> tuple[TokenOrder, list[str]]:
    """The order of an entry's accesses, and for each one the numbers of those that it follows."""
    order = TokenOrder(entry_of(body))
    return order, ["".join(str(order.accesses.index(x)) for x in order.ordered(o)) for o in order.accesses]


def store(name: str, token: str = "") -> str:
    return f"%{name} = {STORE}" + (f" token=%{token}" if token else "") + TYPES + "\n"


def test_without_tokens_nothing_is_ordered() -> None:
    order, follows = order_of(store("a") + store("b"))
    first, second = order.accesses
    assert follows == ["", ""]
    assert order.unordered(second) == [first] and not order.unordered(first)
    assert not order.is_ordered(first, second) and order.is_ordered(second, first)


def test_chain() -> None:
    assert order_of(store("a") + store("b", "a") + store("d", "b"))[1] == ["", "0", "01"]


def test_make_token_follows_nothing() -> None:
    assert order_of(store("a") + "%t = make_token : token " + store("b", "t"))[1] == ["", ""]


def test_join() -> None:
    body = store("a") + store("b") + "%t = join_tokens %a, %b : token " + store("d", "t") + store("e", "a")
    assert order_of(body)[1] == ["", "", "01", "0"]


IF = "%t = if %c -> (token) {{ {yes} yield %{a} : token }} else {{ {no} yield %{b} : token }}\n"


def test_branches_that_pass_the_token_on() -> None:
    body = store("a") + IF.format(yes=store("b", "a"), a="b", no="", b="a") + store("d", "t")
    assert order_of(body)[1] == ["", "0", "01"]


def test_a_branch_that_forgets_the_token() -> None:
    body = store("a") + IF.format(yes=store("b"), a="b", no="", b="a") + store("d", "t")
    assert order_of(body)[1] == ["", "", "1"]


FOR = "%r = for %i in (%n to %n, step %n) : tile<i32> iter_values(%t = %a) -> (token) {{ {body} }}\n"


def test_loop_that_carries_the_token() -> None:
    loop = FOR.format(body=store("b", "t") + "continue %b : token")
    assert order_of(store("a") + loop + store("d", "r"))[1] == ["", "01", "01"]


def test_loop_that_uses_a_token_from_outside() -> None:
    loop = FOR.format(body=store("b", "a") + "continue %b : token")
    order, follows = order_of(store("a") + loop + store("d", "r"))
    assert follows == ["", "0", "0"]
    assert order.unordered(order.accesses[1]) == [order.accesses[1]]


def test_loop_that_goes_on_early_with_an_old_token() -> None:
    loop = FOR.format(body=store("b", "t") + "if %c { continue %t : token } continue %b : token")
    assert order_of(store("a") + loop + store("d", "r"))[1] == ["", "0", "0"]


def test_break_hands_over_its_token() -> None:
    loop = "%r = loop iter_values(%t = %a) : token -> token { " + store("b", "t")
    loop += "if %c { break %b : token } continue %b : token }"
    assert order_of(store("a") + loop + store("d", "r"))[1] == ["", "01", "01"]


def test_print_is_ordered_too() -> None:
    body = store("a") + '%b = print_tko "x" token=%a -> token ' + store("d", "b")
    assert order_of(body)[1] == ["", "0", "01"]


# ---------------------------------------------------------------- the law


class Stop(Exception):
    """An execution has taken long enough, or has ended."""


class Walker:
    """Executes a function as far as tokens are concerned: branches are taken and loops repeated at random.

    A token is the set of the executions that it follows.
    """

    def __init__(self, order: TokenOrder, seed: int) -> None:
        self.order, self.rng, self.fuel = order, random.Random(seed), 400
        self.tokens: dict[Value, frozenset[int]] = {}
        self.executed: list[Op] = []

    def block(self, block: Block) -> Op:
        """Execute a block; the operation that ended it."""
        for o in block.ops:
            self.fuel -= 1
            if self.fuel < 0 or isinstance(o, Return):
                raise Stop
            end = self.step(o)
            if end is not None:
                return end
        return block.ops[-1]

    def step(self, o: Op) -> Op | None:
        """Execute an operation; the terminator if that ends the block around it."""
        match o:
            case If():
                return self.branch(o)
            case For():
                self.repeat(o, o.region.args[1:], self.rng.randrange(4))
            case Loop():
                self.repeat(o, o.region.args, 1000)
            case JoinTokens():
                self.tokens[o.result] = frozenset().union(*(self.tokens[t] for t in o.tokens))
            case _ if is_token_ordered(o):
                self.access(o)
            case _:
                for value in o.results:
                    self.tokens[value] = frozenset()
        return None

    def hand_over(self, targets: list[Value], values: tuple[Value, ...]) -> None:
        found = [self.tokens.get(v, frozenset()) for v in values]
        self.tokens.update(zip(targets, found))

    def branch(self, o: If) -> Op | None:
        block = o.thenRegion if self.rng.random() < 0.5 else o.elseRegion
        if block is None:
            return None
        end = self.block(block)
        if isinstance(end, (Break, Continue)):
            return end
        self.hand_over(list(o.results_), tuple(end.operands))
        return None

    def repeat(self, o: For | Loop, carried: list[Value], times: int) -> None:
        self.hand_over(carried, o.initValues)
        if isinstance(o, For):
            self.hand_over(list(o.resultValues), o.initValues)
        for _ in range(times):
            end = self.block(o.region)
            if isinstance(end, Break):
                self.hand_over(list(o.resultValues), tuple(end.operands))
                return
            self.hand_over(carried, tuple(end.operands))
            if isinstance(o, For):
                self.hand_over(list(o.resultValues), tuple(end.operands))

    def access(self, o: Op) -> None:
        token = next((v for v in o.operands if isinstance(v.type, Token)), None)
        follows = frozenset() if token is None else self.tokens[token]
        ordered, unordered = set(self.order.ordered(o)), set(self.order.unordered(o))
        for number, earlier in enumerate(self.executed):
            assert earlier in ordered or earlier in unordered, "an access that came before is not known"
            assert earlier not in ordered or number in follows, "an access is said to be ordered, but is not"
        made = follows | {len(self.executed)}
        self.executed.append(o)
        self.tokens.update((v, made) for v in o.results if isinstance(v.type, Token))


def walk_at_random(entry: Entry, order: TokenOrder, seed: int) -> None:
    with suppress(Stop):
        Walker(order, seed).block(entry.body)


@pytest.mark.parametrize("seed", range(100))
def test_ordered_accesses_have_happened(seed: int) -> None:
    module, _ = random_case(seed)
    for entry in module.entries:
        order = TokenOrder(entry)
        for way in range(5):
            walk_at_random(entry, order, way)


class TokenWriter:
    """Writes random kernels of stores, joins, branches and loops with tokens."""

    def __init__(self, seed: int) -> None:
        self.rng, self.count = random.Random(seed), 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def lines(self, known: list[str], depth: int, end: str) -> str:
        """Some operations that may use these tokens; `end` is a terminator that hands over one of them."""
        known, text = list(known), ""
        for _ in range(self.rng.randrange(1, 5)):
            made, pick = self.name(), self.rng.choice
            match self.rng.randrange(8 if depth else 4):
                case 0 | 1:
                    text += store(made, pick([*known, ""]))
                case 2:
                    text += f"%{made} = join_tokens %{pick(known)}, %{pick(known)} : token\n"
                case 3:
                    text += f"%{made} = make_token : token\n"
                case 4:
                    yes, no = (self.lines(known, depth - 1, "yield") for _ in range(2))
                    text += f"%{made} = if %c -> (token) {{ {yes} }} else {{ {no} }}\n"
                case 5:
                    arg, counter = self.name(), self.name()
                    body = self.lines([*known, arg], depth - 1, "continue")
                    text += f"%{made} = for %{counter} in (%n to %n, step %n) : tile<i32> "
                    text += f"iter_values(%{arg} = %{pick(known)}) -> (token) {{ {body} }}\n"
                case 6:
                    arg = self.name()
                    leave = self.lines([*known, arg], depth - 1, "break")
                    body = f"if %c {{ {leave} }}" + self.lines([*known, arg], depth - 1, "continue")
                    text += f"%{made} = loop iter_values(%{arg} = %{pick(known)}) : token -> token {{ {body} }}\n"
                case _ if end == "continue":
                    text += f"if %c {{ {self.lines(known, 0, 'continue')} }}\n"
                    continue
                case _:
                    continue
            known.append(made)
        return text + (f"{end} %{self.rng.choice(known)} : token\n" if end else "")


@pytest.mark.parametrize("seed", range(150))
def test_ordered_accesses_have_happened_in_nested_loops(seed: int) -> None:
    entry = entry_of(store("a") + TokenWriter(seed).lines(["a"], 3, ""))
    order = TokenOrder(entry)
    for way in range(20):
        walk_at_random(entry, order, way)


def test_accesses_in_textual_order() -> None:
    module, _ = random_case(3)
    for entry in module.entries:
        found = TokenOrder(entry).accesses
        assert found == [o for o in walk(entry) if not o.blocks and is_token_ordered(o)]
