"""Random small programs with few addresses and many kinds of accesses, for checks of races."""

from __future__ import annotations

import random

ORDERS = {
    "load": ("weak", "weak", "relaxed", "acquire", "acquire"),
    "store": ("weak", "weak", "relaxed", "release", "release"),
    "rmw": ("relaxed", "acquire", "release", "acq_rel"),
    "cas": ("relaxed", "acquire", "release", "acq_rel"),
}
SCOPES = ("tl_blk", "device", "device", "sys")
SIZES = (8, 32, 32, 32, 64)


class Program:
    """Writes a kernel: `p8`, `p32` and `p64` point to the same memory."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.grid = self.rng.choice((1, 2, 2, 3))
        self.batch = self.rng.choice((1, 2, 8))
        self.words = self.rng.choice((1, 1, 2, 4))
        self.wide = self.rng.random() < 0.6
        self.careful = min(seed % 4, 2)
        """0: any accesses; 1: nearly all have the newest token; 2: weak accesses are rare, too."""
        self.names = 0
        self.lines: list[str] = []
        self.budget = self.rng.randint(3, 9)
        if seed % 4 == 3:
            self.words, self.grid, self.batch = 1, self.rng.choice((2, 3)), self.rng.choice((1, 1, 8))
            self._message()
        else:
            self._body(["start"], 0)

    @property
    def text(self) -> str:
        params = ", ".join(f"%p{bits}: tile<ptr<i{bits}>>" for bits in (8, 32, 64))
        body = "\n".join(self.lines)
        return f"""cuda_tile.module @m {{ entry @k({params}) {{
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %start = make_token : token
{body}
  return
}} }}"""

    def _name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def _body(self, tokens: list[str], depth: int) -> None:
        while self.budget > 0:
            self.budget -= 1
            kind = self.rng.random()
            if depth and kind < 0.2:
                return
            if kind < 0.12 and depth < 2:
                self._branch(tokens, depth)
            elif kind < 0.22 and depth < 2:
                self._loop(tokens, depth)
            elif kind < 0.35 and len(tokens) > 1:
                name = self._name()
                self.lines.append(f"  %{name} = join_tokens %{tokens[-1]}, %{self.rng.choice(tokens)} : token")
                tokens.append(name)
            else:
                self._access(tokens)

    def _message(self) -> None:
        """The first tile block writes data and the others read it; strong accesses to one flag may order that."""
        data = "tile<ptr<i64>>"
        self.lines += [
            "  %c3 = constant <i32: 3> : tile<i32>",
            f"  %data = offset %p64, %c3 : {data}, tile<i32> -> {data}",
            "  %first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>",
            "  if %first {",
            "  %x = constant <i64: 7> : tile<i64>",
            f"  %wrote = store_ptr_tko weak %data, %x : {data}, tile<i64> -> token",
        ]
        tokens = ["wrote"]
        for _ in range(self.rng.randint(1, 3)):
            self._access(tokens, 32)
        self.lines.append("  } else {")
        tokens = ["start"]
        for _ in range(self.rng.randint(1, 4)):
            self._access(tokens, 32)
        self.lines += [
            f"  %x, %read = load_ptr_tko weak %data token=%{self.rng.choice(tokens[-2:])} : {data} -> tile<i64>, token",
            "  }",
        ]

    def _branch(self, tokens: list[str], depth: int) -> None:
        condition, result = self._name(), self._name()
        number = self.rng.choice(("%c0", "%c1"))
        self.lines.append(f"  %{condition} = cmpi equal %b, {number}, signed : tile<i32> -> tile<i1>")
        self.lines.append(f"  %{result} = if %{condition} -> (token) {{")
        for word in ("} else {", "}"):
            inner = list(tokens)
            self._access(inner)
            self._body(inner, depth + 1)
            self.lines.append(f"  yield %{self.rng.choice(inner[-2:])} : token")
            self.lines.append(f"  {word}")
        tokens.append(result)

    def _loop(self, tokens: list[str], depth: int) -> None:
        index, carried, result = self._name(), self._name(), self._name()
        init = self.rng.choice(tokens)
        self.lines.append(f"  %{result} = for %{index} in (%c0 to %c2, step %c1) : tile<i32>")
        self.lines.append(f"    iter_values(%{carried} = %{init}) -> (token) {{")
        inner = [*tokens, carried]
        self._access(inner)
        self._body(inner, depth + 1)
        self.lines.append(f"  continue %{self.rng.choice(inner[-2:])} : token")
        self.lines.append("  }")
        tokens.append(result)

    def _access(self, tokens: list[str], strong: int = 0) -> None:
        """Add an access, or a strong one to the first element of this many bits."""
        rng = self.rng
        kind, bits = rng.choice(("load", "store", "store", "rmw", "rmw", "cas")), rng.choice(SIZES)
        bits = 32 if self.careful and rng.random() < 0.9 else bits
        bits = 32 if kind in ("rmw", "cas") and bits == 8 else bits
        shape = rng.choice(("", "", "2x", "2x", "4x"))
        if strong and rng.random() < 0.9:
            bits, shape = strong, ""
        count = int(shape[:-1]) if shape else 1
        most = max(1, self.words * 64 // bits)
        pointer = self._pointers(bits, shape, [0 if strong else rng.randrange(min(most, 4)) for _ in range(count)])
        order = rng.choice(ORDERS[kind])
        if self.careful == 2 and order == "weak" and rng.random() < (0.9 if strong else 0.8):
            order = rng.choice(ORDERS[kind][2:])
        word = order if order == "weak" else f"{order} {'device' if self.wide else rng.choice(SCOPES)}"
        near, often = ((3, 0.75), (1, 0.97), (1, 0.97))[self.careful]
        token = f" token=%{rng.choice(tokens[-near:])}" if rng.random() < often else ""
        old, made, value = self._name(), self._name(), self._name()
        types = f"tile<{shape}ptr<i{bits}>>", f"tile<{shape}i{bits}>"
        if kind == "load":
            self.lines.append(
                f"  %{old}, %{made} = load_ptr_tko {word} %{pointer}{token} : {types[0]} -> {types[1]}, token"
            )
        else:
            self.lines.append(f"  %{value} = constant <i{bits}: {rng.randrange(2)}> : {types[1]}")
        if kind == "store":
            self.lines.append(
                f"  %{made} = store_ptr_tko {word} %{pointer}, %{value}{token} : {', '.join(types)} -> token"
            )
        elif kind == "rmw":
            mode = rng.choice(("add", "xchg"))
            self.lines.append(
                f"  %{old}, %{made} = atomic_rmw_tko {word} %{pointer}, {mode}, %{value}{token} "
                f": {', '.join(types)} -> {types[1]}, token"
            )
        elif kind == "cas":
            compared = self._name()
            self.lines.append(f"  %{compared} = constant <i{bits}: {rng.randrange(2)}> : {types[1]}")
            self.lines.append(
                f"  %{old}, %{made} = atomic_cas_tko {word} %{pointer}, %{compared}, %{value}{token} "
                f": {', '.join(types)} -> {types[1]}, token"
            )
        tokens.append(made)

    def _pointers(self, bits: int, shape: str, indices: list[int]) -> str:
        numbers, pointer = self._name(), self._name()
        if not shape:
            by_block = self.careful < 2 and self.rng.random() < 0.2
            self.lines.append(f"  %{numbers} = constant <i32: {indices[0]}> : tile<i32>")
            self.lines.append(
                f"  %{pointer} = offset %p{bits}, {'%b' if by_block else f'%{numbers}'} "
                f": tile<ptr<i{bits}>>, tile<i32> -> tile<ptr<i{bits}>>"
            )
            return pointer
        one, wide = self._name(), self._name()
        count = shape[:-1]
        element = f"ptr<i{bits}>"
        self.lines.append(f"  %{numbers} = constant <i32: {indices}> : tile<{count}xi32>")
        self.lines.append(f"  %{one} = reshape %p{bits} : tile<{element}> -> tile<1x{element}>")
        self.lines.append(f"  %{wide} = broadcast %{one} : tile<1x{element}> -> tile<{count}x{element}>")
        self.lines.append(
            f"  %{pointer} = offset %{wide}, %{numbers} : tile<{count}x{element}>, tile<{count}xi32> "
            f"-> tile<{count}x{element}>"
        )
        return pointer
