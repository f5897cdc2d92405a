"""Random kernels in the idioms of real ones: tiles of positions that wrap around, are limited or chosen, and loops."""

from __future__ import annotations

import random


class _Idioms:
    """The lines of a kernel on tiles of one shape, in one width of integers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sizes = rng.choice(([16], [8], [4], [4, 8], [8, 4], [2, 16], [1, 8], [8, 1], [2, 2, 4]))
        self.shape = "".join(f"{size}x" for size in self.sizes)
        self.lines: list[str] = []
        self.count = 0

    def put(self, text: str) -> str:
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, value: int) -> str:
        return self.put(f"constant <i32: {value}> : tile<i32>")

    def scalar(self, name: str, a: str, b: str, more: str = "") -> str:
        return self.put(f"{name} {a}, {b}{more} : tile<i32>")

    def tile(self, name: str, a: str, b: str, more: str = "") -> str:
        return self.put(f"{name} {a}, {b}{more} : tile<{self.shape}i32>")

    def spread(self, scalar: str, element: str = "i32") -> str:
        ones = "1x" * len(self.sizes)
        one = self.put(f"reshape {scalar} : tile<{element}> -> tile<{ones}{element}>")
        return self.put(f"broadcast {one} : tile<{ones}{element}> -> tile<{self.shape}{element}>")

    def along(self, dim: int, first: str) -> str:
        """Return the positions along a dimension from a first one on."""
        size, pick = self.sizes[dim], self.rng.choice
        iota = self.put(f"iota : tile<{size}xi32>")
        early = self.rng.random() < 0.5
        if early:  # the wrapped or limited line is spread, not the tile
            one = self.put(f"reshape {first} : tile<i32> -> tile<1xi32>")
            start = self.put(f"broadcast {one} : tile<1xi32> -> tile<{size}xi32>")
            iota = self.put(f"addi {pick((f'{start}, {iota}', f'{iota}, {start}'))} : tile<{size}xi32>")
        ones = "".join(f"{size if at == dim else 1}x" for at in range(len(self.sizes)))
        line = self.put(f"reshape {iota} : tile<{size}xi32> -> tile<{ones}i32>")
        found = self.put(f"broadcast {line} : tile<{ones}i32> -> tile<{self.shape}i32>")
        return found if early else self.tile("addi", *pick(((self.spread(first), found), (found, self.spread(first)))))

    def bound(self, limit: str) -> str:
        """Return a limit, or something near it."""
        pick = self.rng.choice
        if self.rng.random() < 0.6:
            return limit
        return self.scalar(pick(("addi", "subi", "muli")), limit, self.constant(pick((1, 1, 2, 16))))

    def kept(self, at: str, limit: str) -> str:
        """Return positions that stay below a limit in one of several ways, or do not."""
        pick = self.rng.choice
        sign = pick(("signed", "signed", "unsigned"))
        tile = self.spread(self.bound(limit))
        match self.rng.randrange(8):
            case 0 | 1:
                return self.tile("remi", at, tile, f" {sign}")
            case 2:
                last = self.tile("subi", tile, self.spread(self.constant(pick((1, 1, 0, 2)))))
                return self.tile("mini", *pick(((at, last), (last, at))), f" {sign}")
            case 3:
                zero = self.spread(self.constant(pick((0, 0, 1))))
                return self.tile("maxi", *pick(((at, zero), (zero, at))), f" {sign}")
            case 4:
                mask = self.below(at, tile)
                zero = self.spread(self.constant(pick((0, 0, 3))))
                arms = pick((f"{at}, {zero}", f"{at}, {zero}", f"{zero}, {at}"))
                return self.put(f"select {mask}, {arms} : tile<{self.shape}i1>, tile<{self.shape}i32>")
            case 5:
                return self.tile("divi", at, tile, f" {sign}")
        return at

    def below(self, at: str, tile: str) -> str:
        predicate, swapped = self.rng.choice(
            (("less_than", 0), ("less_than", 0), ("less_than_or_equal", 0), ("greater_than", 1),
             ("greater_than_or_equal", 1), ("greater_than_or_equal", 0), ("equal", 0))
        )  # fmt: skip
        sides = f"{tile}, {at}" if swapped else f"{at}, {tile}"
        sign = self.rng.choice(("signed", "signed", "unsigned"))
        return self.put(f"cmpi {predicate} {sides}, {sign} : tile<{self.shape}i32> -> tile<{self.shape}i1>")

    def mask(self, positions: list[str], limits: list[str]) -> str:
        """Return a mask of positions below limits and of conditions, or nothing."""
        pick, found = self.rng.choice, ""
        for _ in range(self.rng.randrange(4)):
            dim = self.rng.randrange(len(positions))
            if self.rng.random() < 0.2:
                condition = self.put(
                    f"cmpi less_than {pick(('%bx', '%s'))}, {pick(limits)}, signed : tile<i32> -> tile<i1>"
                )
                new = self.spread(condition, "i1")
            else:
                new = self.below(positions[dim], self.spread(self.bound(limits[min(dim, len(limits) - 1)])))
            name = pick(("andi", "andi", "andi", "ori"))
            found = self.put(f"{name} {found}, {new} : tile<{self.shape}i1>") if found else new
        return found

    def places(self, positions: list[str], stride: str) -> str:
        """Return offsets: the last position, and the others times strides."""
        pick = self.rng.choice
        total = positions[-1]
        for number, at in enumerate(positions[-2::-1]):
            by = self.spread(stride if number == 0 else self.scalar("muli", stride, pick(("%m", stride))))
            row = self.tile("muli", *pick(((at, by), (by, at))))
            total = self.tile("addi", *pick(((row, total), (total, row))))
        if self.rng.random() < 0.3:
            total = self.tile(pick(("addi", "subi")), total, self.spread(pick(("%s", "%bx"))))
        return total

    def pointers(self, base: str, offsets: str) -> str:
        kind = f"tile<{self.shape}ptr<f32>>"
        tile, type = self.spread(base, "ptr<f32>"), f"tile<{self.shape}i32>"
        if self.rng.random() < 0.25:
            offsets = self.put(
                f"exti {offsets} {self.rng.choice(('signed', 'signed', 'unsigned'))} : {type} -> tile<{self.shape}i64>"
            )
            type = f"tile<{self.shape}i64>"
        return self.put(f"offset {tile}, {offsets} : {kind}, {type} -> {kind}")

    def load(self, pointers: str, mask: str) -> str:
        kind, type = f"tile<{self.shape}ptr<f32>>", f"tile<{self.shape}f32>"
        operands, types = pointers, kind
        if mask:
            operands, types = f"{operands}, {mask}", f"{types}, tile<{self.shape}i1>"
            if self.rng.random() < 0.7:
                pad = self.put(f"constant <f32: {self.rng.choice(('0.0', '0.0', '1.5', '0xFF800000'))}> : {type}")
                operands, types = f"{operands}, {pad}", f"{types}, {type}"
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name}, {name}t = load_ptr_tko weak {operands} : {types} -> {type}, token")
        return name

    def store(self, pointers: str, value: str, mask: str) -> None:
        more = (f", {mask}", f", tile<{self.shape}i1>") if mask else ("", "")
        types = f"tile<{self.shape}ptr<f32>>, tile<{self.shape}f32>{more[1]}"
        self.put(f"store_ptr_tko weak {pointers}, {value}{more[0]} : {types} -> token")


def idiom_kernel(rng: random.Random) -> str:
    """Return a kernel with two arrays of f32 and the numbers `%m`, `%n`, `%s`, which reads and writes tiles."""
    pick, k = rng.choice, _Idioms(rng)
    k.lines.append("%bx, %by, %bz = get_tile_block_id : tile<i32>")
    limits = ["%n"] if len(k.sizes) == 1 else ["%m", "%n", "%n"][: len(k.sizes)]
    positions = []
    for dim, size in enumerate(k.sizes):
        block = pick(("%bx", "%by") if dim == 0 else ("%by", "%zero"))
        positions.append(k.along(dim, k.scalar("muli", block, k.constant(pick((size, size, size, 1, size // 2))))))
    k.lines.insert(1, "%zero = constant <i32: 0> : tile<i32>")
    kept = [k.kept(at, limits[dim]) if rng.random() < 0.7 else at for dim, at in enumerate(positions)]
    stride = pick(("%n", "%n", "%s"))
    type = f"tile<{k.shape}f32>"
    if rng.random() < 0.4:
        looped(k, kept, positions, limits, stride)
    else:
        value = k.load(k.pointers("%p", k.places(kept, stride)), k.mask(positions, limits))
        if rng.random() < 0.4:
            other = k.load(k.pointers("%p", k.places(positions, stride)), k.mask(positions, limits))
            value = k.put(f"{pick(('addf', 'mulf'))} {value}, {other} : {type}")
        if rng.random() < 0.4:
            mask = k.below(pick(positions), k.spread(pick(limits)))
            zero = k.put(f"constant <f32: 0.0> : {type}")
            value = k.put(
                f"select {mask}, {pick((f'{value}, {zero}', f'{zero}, {value}'))} : tile<{k.shape}i1>, {type}"
            )
        stored = pick((positions, positions, kept))
        k.store(k.pointers("%q", k.places(stored, stride)), value, k.mask(positions, limits))
    head = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>"
    return f"entry @k({head}) {{\n" + "\n".join(k.lines) + "\nreturn\n}\n"


def looped(k: _Idioms, kept: list[str], positions: list[str], limits: list[str], stride: str) -> None:
    """Add a loop that moves its pointers, or its positions, by a tile each time."""
    pick, rng = k.rng.choice, k.rng
    kind, type, last = f"tile<{k.shape}ptr<f32>>", f"tile<{k.shape}f32>", k.sizes[-1]
    step = k.constant(pick((last, last, 1)))
    count = k.scalar("divi", k.scalar("addi", limits[-1], k.constant(last - 1)), k.constant(last), " signed")
    start = k.pointers("%p", k.places(kept, stride))
    zero = k.put(f"constant <f32: 0.0> : {type}")
    one = k.constant(1)
    outside = k.spread(step)
    by_pointer = rng.random() < 0.6
    first = start if by_pointer else kept[-1]
    carried = kind if by_pointer else f"tile<{k.shape}i32>"
    outer, k.lines = k.lines, []
    done = k.scalar("muli", "%i", step)
    if rng.random() < 0.5:
        left = k.scalar("subi", limits[-1], done)
        mask = k.below(positions[-1], k.spread(left))
    else:
        now = k.tile("addi", positions[-1], k.spread(done))
        mask = k.mask([*positions[:-1], now], limits)
    pointers = "%c" if by_pointer else k.pointers("%p", k.places([*kept[:-1], "%c"], stride))
    value = k.load(pointers, mask)
    total = k.put(f"addf %sum, {value} : {type}")
    if by_pointer:
        moved = k.put(f"offset %c, {outside} : {kind}, tile<{k.shape}i32> -> {kind}")
    else:
        moved = k.tile("addi", "%c", outside)
    k.lines.append(f"continue {total}, {moved} : {type}, {carried}")
    body = "\n".join(k.lines)
    k.lines = outer
    name = f"%v{k.count}"
    k.count += 1
    low = pick(("%zero", "%zero", one))
    k.lines.append(
        f"{name}:2 = for %i in ({low} to {pick((count, count, '%s'))}, step {one}) : tile<i32> "
        f"iter_values(%sum = {zero}, %c = {first}) -> ({type}, {carried}) {{\n{body}\n}}"
    )
    k.store(k.pointers("%q", k.places(positions, stride)), f"{name}#0", k.mask(positions, limits))
