"""Generators of random numbers whose state looks like a GPU's: a seed and an offset, 16 bytes.

The numbers come from a generator of the host, whose state is larger. A state that was handed out is remembered with the
host's, so that it can be set again; another one, which a program has made up, starts the host's generator with a seed
that follows from it.
"""

from __future__ import annotations

import hashlib
import struct
from collections import OrderedDict
from typing import Any

import torch

MOST = 1000
"""How many states a generator remembers, of 5 kB each."""
STEP = 4
"""Offsets count numbers, of which a GPU makes four at a time."""

Place = tuple[int, int]
"""A seed and an offset."""
HOST: Any = torch._C.Generator


class Philox:
    """The states of a GPU that stand for those of a generator of the host."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.states: OrderedDict[Place, bytes] = OrderedDict()
        self.places: dict[bytes, Place] = {}
        self.offsets: dict[int, int] = {}
        self.seeds: dict[int, int] = {}

    def remember(self, place: Place, state: bytes) -> None:
        self.states[place], self.places[state] = state, place
        self.offsets[place[0]] = max(self.offsets.get(place[0], 0), place[1])
        if len(self.states) > MOST:
            self.places.pop(self.states.popitem(last=False)[1], None)

    def seed(self) -> int:
        """Return the seed from which the numbers follow."""
        seed: int = HOST.initial_seed(self.host)
        return self.seeds.get(seed, seed)

    def place(self) -> Place:
        """Return the seed and the offset of the present state."""
        state = HOST.get_state(self.host).numpy().tobytes()
        if state not in self.places:
            seed = self.seed()
            is_new = state == HOST().manual_seed(seed).get_state().numpy().tobytes()
            self.remember((seed, 0 if is_new else self.offsets.get(seed, 0) + STEP), state)
        return self.places[state]

    def go_to(self, place: Place) -> None:
        """Make the numbers that follow a state."""
        if (state := self.states.get(place)) is not None:
            HOST.set_state(self.host, torch.frombuffer(bytearray(state), dtype=torch.uint8))
            return
        seed, offset = place
        derived = seed
        if offset:
            derived = int.from_bytes(hashlib.sha256(struct.pack("<QQ", seed, offset)).digest()[:7], "little")
            self.seeds[derived] = seed
        HOST.manual_seed(self.host, derived)
        self.remember(place, HOST.get_state(self.host).numpy().tobytes())

    def get_state(self) -> torch.Tensor:
        return torch.frombuffer(bytearray(struct.pack("<QQ", *self.place())), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        data = bytes(state.tolist())
        if len(data) != 16:
            raise RuntimeError("RNG state is wrong size")
        self.go_to(struct.unpack("<QQ", data))


class Generator(HOST):  # type: ignore[misc]  # torch's
    """A class like `torch.Generator` that takes `cuda`."""

    on_gpu: bool
    philox: Philox

    def __new__(cls, device: Any = "cpu") -> Generator:
        from .placement import on_gpu

        made: Generator = HOST.__new__(cls, "cpu" if on_gpu(device) else device)
        made.on_gpu, made.philox = on_gpu(device), Philox(made)
        return made

    @property
    def device(self) -> Any:
        from .placement import GPU

        return GPU if self.on_gpu else torch.device("cpu")

    def get_state(self) -> Any:
        return self.philox.get_state() if self.on_gpu else super().get_state()

    def set_state(self, state: Any) -> Any:
        if self.on_gpu:
            self.philox.set_state(state)
        else:
            super().set_state(state)
        return self

    def initial_seed(self) -> Any:
        return self.philox.seed() if self.on_gpu else super().initial_seed()

    def get_offset(self) -> int:
        return self.philox.place()[1]

    def set_offset(self, offset: int) -> None:
        self.philox.go_to((self.philox.place()[0], offset))


class DefaultGenerator(Generator):
    """The generator of the GPU's numbers where a program names none: that of the host."""

    def __new__(cls) -> DefaultGenerator:
        made: DefaultGenerator = Generator.__new__(cls, "cuda")
        made.philox = Philox(torch.default_generator)
        return made

    def manual_seed(self, seed: int) -> DefaultGenerator:
        torch.default_generator.manual_seed(seed)
        return self

    def seed(self) -> Any:
        return torch.default_generator.seed()


DEFAULT = DefaultGenerator()
