"""Editing a module: uses and parents stay what a walk finds, whatever is changed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import tilery
from tilery import Op, TileError, Value
from tilery.attrs import Dense
from tilery.ops import AddI, Constant, If, SubI
from tilery.rewrite import Edit
from tilery.smith import smith
from tilery.types import I32, Tile

TEXT = """
entry @k(%n: tile<i32>, %c: tile<i1>) {
  %0 = addi %n, %n : tile<i32>
  %1 = if %c -> (tile<i32>) {
    %2 = negi %0 : tile<i32>
    yield %2 : tile<i32>
  } else {
    yield %0 : tile<i32>
  }
  %3 = print_tko "%d", %1 : tile<i32> -> token
  return
}
"""


def truth(root: Op) -> tuple[dict[Value, Counter[Op]], dict[Op, Op]]:
    """Uses and parents, by walking."""
    uses: dict[Value, Counter[Op]] = {}
    parents: dict[Op, Op] = {}
    for o in tilery.walk(root):
        for value in o.operands:
            uses.setdefault(value, Counter())[o] += 1
        for block in o.blocks:
            parents.update(dict.fromkeys(block.ops, o))
    return uses, parents


def agrees(edit: Edit) -> None:
    uses, parents = truth(edit.root)
    for o in tilery.walk(edit.root):
        assert edit.parent(o) is parents.get(o)
        if o is not edit.root:
            assert o in edit.block(o).ops
        for value in o.results:
            assert Counter(edit.uses(value)) == uses.get(value, Counter())


def test_uses_and_parents() -> None:
    module = tilery.parse(TEXT)
    add, branch, show, _ = module.entries[0].body
    with module.edit() as edit:
        assert [o.name for o in edit.uses(add.results[0])] == ["negi", "yield"]
        assert edit.uses(module.entries[0].body.args[0]) == [add, add]
        assert edit.parent(branch.blocks[0].ops[0]) is branch and edit.parent(module) is None
        assert edit.block(show) is module.entries[0].body
        assert not edit.changed


def test_replace_insert_and_erase() -> None:
    module = tilery.parse(TEXT)
    add, _, show, _ = module.entries[0].body
    assert isinstance(add, AddI)
    with module.edit() as edit:
        one = Constant(value=Dense.of(Tile((), I32), [1]))
        edit.insert(one, before=add)
        edit.replace(add, SubI(lhs=add.lhs, rhs=one.result))
        edit.set_operand(show, "args", [one.result])
        agrees(edit)
    assert tilery.verify(module) == []
    assert [o.name for o in module.entries[0].body] == ["constant", "subi", "if", "print_tko", "return"]


def test_building_at_a_position() -> None:
    module = tilery.parse(TEXT)
    body = module.entries[0].body
    add, branch, *_ = body
    with module.edit() as edit:
        with edit.before(branch) as b:
            doubled = add.results[0] * 2
            with b.if_(body.args[1]):
                b.print("%d", doubled)
            b.sum(b.iota(4))
        with edit.after(branch) as b:
            b.assert_(branch.results[0] > 0, "positive")
        edit.insert(Constant(value=Dense.of(Tile((), I32), [1])), into=body)
        agrees(edit)
    assert tilery.verify(module) == []
    names = "addi constant muli if iota reduce if constant cmpi assert print_tko constant return"
    assert [o.name for o in body] == names.split()


def test_a_changed_module_is_not_written_back_as_it_was_read() -> None:
    module = tilery.load(tilery.dumps(tilery.parse(TEXT)))
    before = tilery.dumps(module)
    add = module.entries[0].body.ops[0]
    assert isinstance(add, AddI)
    with module.edit() as edit:
        edit.replace(add.result, add.lhs)
        edit.erase(add)
    assert tilery.dumps(module) != before
    assert tilery.equal(tilery.load(tilery.dumps(module)), module)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e, add, branch: e.erase(add), "erase: 'addi' is still used by 'negi'"),
        (lambda e, add, branch: e.replace(add.result, branch.condition),
         "replace: a value of type tile<i32> cannot become one of type tile<i1>"),
        (lambda e, add, branch: e.insert(add, before=branch), "insert: this 'addi' is already in the module"),
        (lambda e, add, branch: e.insert(add), "insert: say where, with one of 'before', 'after' and 'into'"),
        (lambda e, add, branch: e.parent(AddI(lhs=add.lhs, rhs=add.lhs)),
         "'addi' is not inside the operation that is edited"),
        (lambda e, add, branch: e.set_operand(add, "left", add.lhs),
         "set_operand: 'addi' has no operand 'left'; its operands: lhs, rhs"),
        (lambda e, add, branch: e.replace(branch, []), "replace: 'if' has 1 results, got 0 values"),
        (lambda e, add, branch: e.after(e.block(add).ops[-1]),
         "after: nothing can follow 'return', which ends its block"),
    ],
)  # fmt: skip
def test_what_is_refused(change: object, said: str) -> None:
    module = tilery.parse(TEXT)
    add, branch, *_ = module.entries[0].body
    assert isinstance(branch, If) and callable(change)
    with module.edit() as edit, pytest.raises(TileError) as caught:
        change(edit, add, branch)
    assert caught.value.message == said


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_keep_the_books(seed: int) -> None:
    rng = random.Random(seed)
    module = smith(seed, size=60)
    with module.edit() as edit:
        for _ in range(40):
            ops = [o for o in tilery.walk(module) if edit.parent(o) is not None and o.results]
            if not ops:
                break
            o = rng.choice(ops)
            for result in o.results:
                same = [v for v in (x for p in ops for x in p.operands) if v.type is result.type and v is not result]
                if same:
                    edit.replace(result, rng.choice(same))
            if not any(edit.uses(result) for result in o.results):
                edit.erase(o)
        agrees(edit)
