"""Uses, liveness and effects: examples, and laws on random modules."""

from __future__ import annotations

import random

import pytest

from support.contract import random_case
from tilery import parse
from tilery.analysis.effects import accesses, enclosing_accesses, has_no_effect, memory_ordering
from tilery.analysis.liveness import Liveness, captures
from tilery.analysis.uses import Uses, count_uses
from tilery.ir import Block, Op, Value, walk
from tilery.ops import For, If, Loop
from tilery.rewrite import map_operands, replace_uses

KERNEL = """
entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %unused = addi %one, %one : tile<i32>
  %sum = for %i in (%one to %n, step %one) : tile<i32> iter_values(%acc = %one) -> (tile<i32>) {
    %x = addi %acc, %i : tile<i32>
    %c = cmpi less_than %x, %n, signed : tile<i32> -> tile<i1>
    %y = if %c -> (tile<i32>) {
      yield %x : tile<i32>
    } else {
      %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      yield %v : tile<i32>
    }
    continue %y : tile<i32>
  }
  %s = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


@pytest.fixture
def entry() -> Op:
    return parse(KERNEL).entries[0]


def test_users_in_order(entry: Op) -> None:
    p, n = entry.blocks[0].args
    uses = Uses(entry)
    assert [o.name for o in uses.of(p)] == ["load_ptr_tko", "store_ptr_tko"]
    assert [o.name for o in uses.of(n)] == ["for", "cmpi"]


def test_unused_values_have_no_users(entry: Op) -> None:
    uses, unused = Uses(entry), entry.blocks[0].ops[1].results[0]
    assert not uses.of(unused) and uses.count(unused) == 0 and unused not in uses and uses.only(unused) is None


def test_only_user(entry: Op) -> None:
    uses, loop = Uses(entry), entry.blocks[0].ops[2]
    store = uses.only(loop.results[0])
    assert store is not None and store.name == "store_ptr_tko"
    assert uses.only(entry.blocks[0].args[0]) is None


def test_last_use_is_in_the_own_block(entry: Op) -> None:
    body = entry.blocks[0]
    one, _, loop, store = body.ops[:4]
    live = Liveness(body)
    assert live.last[one.results[0]] is loop
    assert live.last[body.args[0]] is store
    assert live.last[body.args[1]] is loop
    x, _, branch = loop.blocks[0].ops[:3]
    assert live.last[x.results[0]] is branch
    assert live.ends_at(x.results[0], branch) and x.results[0] in live.ending()[branch]
    assert live.captured == []


def test_captured_values(entry: Op) -> None:
    body = entry.blocks[0]
    (p, n), loop = body.args, body.ops[2]
    assert captures(loop) == [n, p]
    assert Liveness(loop.blocks[0]).captured == [n, p]


def test_effects(entry: Op) -> None:
    body = entry.blocks[0]
    _, unused, loop, store = body.ops[:4]
    assert [o.name for o in accesses(body)] == ["load_ptr_tko", "store_ptr_tko"]
    assert [o.name for o in walk(body) if o in enclosing_accesses(body)] == [
        "for",
        "if",
        "load_ptr_tko",
        "store_ptr_tko",
    ]
    assert has_no_effect(unused) and not has_no_effect(loop) and not has_no_effect(store)


SEEDS = range(40)


def blocks(root: Op) -> list[Block]:
    return [block for o in walk(root) for block in o.blocks]


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_agree_with_users(seed: int) -> None:
    module, _ = random_case(seed)
    counts, uses = count_uses(walk(module)), Uses(module)
    assert {v: uses.count(v) for v in uses.users} == dict(counts)
    assert all(uses.of(v).count(o) == o.operands.count(v) for v in uses.users for o in uses.of(v))
    assert all((uses.only(v) is None) == (counts[v] != 1) for v in uses.users)


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_keep_counts_and_users(seed: int) -> None:
    module, _ = random_case(seed)
    rng = random.Random(seed)
    counts, uses = count_uses(walk(module)), Uses(module)
    for o in [o for o in walk(module) if o.operands and rng.random() < 0.5]:
        for books in (counts, uses):
            books.remove(o)
        old = rng.choice(o.operands)
        same = [v for v in uses.users if v.type is old.type and v is not old]
        new = rng.choice(same) if same else old
        map_operands(o, lambda value: new if value is old else value)  # noqa: B023  # called at once
        for books in (counts, uses):
            books.add(o)
    old, new = rng.sample(list(uses.users), 2)
    counts.replace(old, new)
    users = uses.replace(old, new)
    assert sum(users.values()) == sum(o.operands.count(old) for o in walk(module))
    replace_uses(module, {old: new})
    true = Uses(module)
    assert {v: dict(users) for v, users in uses.users.items()} == true.users
    assert +counts == count_uses(walk(module))


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_used_after_its_last_use(seed: int) -> None:
    module, _ = random_case(seed)
    for entry in module.entries:
        live = Liveness(entry.body)
        for block in blocks(entry):
            defined = {*block.args, *(v for o in block.ops for v in o.results)}
            seen: dict[Value, Op] = {}
            for o in block.ops:
                seen.update((v, o) for inner in walk(o) for v in inner.operands if v in defined)
            assert seen == {v: o for v, o in live.last.items() if v in defined}


@pytest.mark.parametrize("seed", SEEDS)
def test_captures_are_the_free_values_of_the_body(seed: int) -> None:
    module, _ = random_case(seed)
    for o in walk(module):
        if isinstance(o, (For, If, Loop)):
            inside = [x for block in o.blocks for x in walk(block)]
            defined = {v for x in inside for v in x.results} | {v for block in blocks(o) for v in block.args}
            assert captures(o) == list(dict.fromkeys(v for x in inside for v in x.operands if v not in defined))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_has_no_effect_encloses_no_access(seed: int) -> None:
    module, _ = random_case(seed)
    for entry in module.entries:
        around = enclosing_accesses(entry.body)
        for o in walk(entry.body):
            assert (o in around) == any(memory_ordering(x) is not None for x in walk(o))
            assert not (has_no_effect(o) and o in around)
