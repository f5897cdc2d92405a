"""The changes that `scripts/claims_mutation.py` makes: what is found by its syntax, and what replaces it."""

from __future__ import annotations

import pytest

from parts.mutations import LostError, mutate

SOURCE = '''
LIMITS = {"rank": 8, "size": 1 << 24}


@rule(If)
def check(o, size):
    """Say whether a size is legal."""
    if size <= 0:  # a comment
        note(o)
        raise ValueError(f"size {size} is not positive")
    return size in (1,
                    2) and make(o, since=1)


class View:
    rank: int = field("the rank", low=0)

    def rank_of(self):
        return len(self.shape)
'''


@pytest.mark.parametrize(
    ("place", "change", "to", "gone", "made"),
    [
        ("m:check", "<=", "<", "size <= 0", "size < 0"),
        ("m:check", "note(o)", "", "note(o)", "    if size <= 0:\n        raise"),
        ("m:check", "@rule(If)", "", "@rule(If)", "def check("),
        ("m:check", "size in (1, 2)", "True", "(1, 2)", "return True and"),
        ("m:check", "make(...)", "make(..., since=2, low=3)", "since=1", "make(o, since=2, low=3)"),
        ("m:check", "'... is not positive...'", "'... is small...'", "positive", "size {size} is small"),
        ("m:check", "note(o)", "a = o\nnote(a)", "note(o)", "        a = o\n        note(a)\n"),
        ("m:LIMITS", "{**...}", "{**..., 'rank': 9}", "~", "{'rank': 8, 'size': 1 << 24, 'rank': 9}"),
        ("m:View.rank", "0", "1", "low=0", "low=1"),
        ("m:View.rank_of", "len(self.shape)", "1", "len", "return 1"),
        ("m", "8", "7", "8", "'rank': 7"),
    ],
)
def test_a_piece_is_replaced(place: str, change: str, to: str, gone: str, made: str) -> None:
    result = mutate(SOURCE, place, change, to)
    assert gone not in result and made in result
    compile(result, "m.py", "exec")


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("m:nothing", "1", "there is no m:nothing"),
        ("m:check", ">=", "m:check has 0 of >="),
        ("m:check", "size", "m:check has 3 of size"),
        ("m:View.rank_of", "self", "self cannot be removed"),
    ],
)
def test_code_that_has_changed_is_noticed(place: str, change: str, message: str) -> None:
    with pytest.raises(LostError, match=message):
        mutate(SOURCE, place, change, "")
