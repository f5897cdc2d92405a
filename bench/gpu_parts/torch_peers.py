"""Programs of torch that replace those of `gpu_kernels.toml`: as they are, and through torch.compile."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from .collect import say
from .programs import arguments

ROUNDS = 3


def made(program: dict[str, Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Return the function of a program's peer, and its arguments on the GPU."""
    names = arguments(program, filled=True)
    given = [line.split("=")[0].strip() for line in program["with"].split(";")]
    used = [name for name in given if re.search(rf"\b{name}\b", program["peer"])]
    exec(f"def peer({', '.join(used)}):\n    return {program['peer']}\n", names)
    return names["peer"], [names[name] for name in used]


def warm(program: dict[str, Any]) -> str:
    """Compile a peer in a process of a pool, so that torch finds it in its cache."""
    import torch

    torch.set_float32_matmul_precision("high")
    function, args = made(program)
    torch._dynamo.reset()
    try:
        torch.compile(function, dynamic=False)(*args)
        torch.cuda.synchronize()
    except Exception as error:  # torch raises what it likes
        return f"{program['name']}: {str(error)[:200]}"
    return ""


def child(request: dict[str, Any]) -> None:
    """Time the peers of programs, one line of JSON for each."""
    import torch

    from tilery.engines.cuda.driver import open_driver
    from tilery.engines.cuda.timing import elapsed, fitting, median

    torch.set_float32_matmul_precision("high")
    driver, deadline = open_driver(), time.monotonic() + request["seconds"]
    for program in request["programs"]:
        if time.monotonic() > deadline:
            break
        found: dict[str, float | str] = {}
        torch._dynamo.reset()  # otherwise it gives up after eight functions
        try:
            function, args = made(program)
            for name, called in (("eager", function), ("compiled", torch.compile(function, dynamic=False))):

                def launch(called: Any = called, args: Any = args) -> None:
                    called(*args)

                launch()
                torch.cuda.synchronize()
                rough = elapsed(driver, launch, 2)
                times = []
                for _ in range(ROUNDS):
                    elapsed(driver, launch, fitting(rough, 0.01))
                    times.append(elapsed(driver, launch, fitting(rough, 0.01)))
                found[name] = median(times)
            if not torch._dynamo.utils.counters["stats"]["unique_graphs"]:
                found = {"eager": found["eager"], "error": "torch.compile did not compile it"}
            torch._dynamo.utils.counters.clear()
        except Exception as error:  # torch raises what it likes
            found["error"] = str(error)[:200]
        say("peer", program=program["name"], result=found)
        del function, args
        torch.cuda.empty_cache()
