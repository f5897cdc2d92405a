"""torch programs that were written for a GPU, without one. Needs cuTile and torch."""

from __future__ import annotations

import copy
import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery.cutile

ct = pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
torch: Any = pytest.importorskip("torch", reason="needs torch")
from support import cutile_kernels as kernels  # noqa: E402  # needs cuTile


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    with tilery.cutile.on() as session:
        yield session


def add(x: Any, y: Any, z: Any) -> None:
    ct.launch(torch.cuda.current_stream(), (-(-len(x) // 16),), kernels.add, (x, y, z, 16))


# ---------------------------------------------------------------- launches


def test_old_releases_get_tensors_as_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuTile before 1.6 refuses tensors of a torch without CUDA, so none must reach it; nor its type of streams."""
    given: list[tuple[Any, ...]] = []
    extension = sys.modules["cuda.tile._cext"]
    launch = getattr(extension, "launch")  # noqa: B009  # type checkers do not know the attribute
    original = getattr(launch, "original", None) or launch

    def old_launch(stream: Any, grid: Any, kernel: Any, values: Any) -> None:
        given.append((stream, *values))
        original(stream, grid, kernel, values)

    monkeypatch.setattr(extension, "launch", old_launch)
    monkeypatch.setattr("tilery.cutile.versions.version", lambda name: "1.4.0")
    with tilery.cutile.on():
        x = torch.ones(16, device="cuda", requires_grad=True)
        half, z = torch.full((16,), 0.5, device="cuda"), torch.zeros(16, device="cuda")
        add(x, half, z)
    assert z.tolist() == [1.5] * 16
    assert isinstance(given[0][0], int) and not any(isinstance(value, torch.Tensor) for value in given[0])


def test_nothing_is_said_at_the_end(tmp_path: Path) -> None:
    """Memory whose address was asked for is forgotten before torch is gone."""
    script = tmp_path / "script.py"
    script.write_text("import torch\nx = torch.ones(4, device='cuda')\nprint(x.data_ptr() > 0)\n")
    command = [sys.executable, "-m", "tilery", "cutile", "run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


BOTH = """
import cuda.tile as ct
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at) * 2)

@ct.kernel
def increase(x, y):
    ct.store(y, index=(0,), tile=ct.load(x, index=(0,), shape=(16,)) + 1)

x = torch.arange(16, dtype=torch.float32, device="cuda")
y, z = torch.empty_like(x), torch.empty(16, device="cuda")
double[(1,)](x, y, N=16)
ct.launch(torch.cuda.current_stream(), (1,), increase, (y, z))
print(z.tolist() == [2.0 * n + 1 for n in range(16)], x.device.type)
"""


def test_a_script_with_kernels_in_triton(tmp_path: Path) -> None:
    """Both languages see the same memory, although each brings stand-ins for torch."""
    pytest.importorskip("triton", reason="needs Triton")
    script = tmp_path / "both.py"
    script.write_text(BOTH, "utf-8")
    command = [sys.executable, "-m", "tilery", "cutile", "run", "--triton", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True cuda\n"), done.stderr


# ---------------------------------------------------------------- devices


@pytest.mark.parametrize("device", ["cuda", "cuda:0", 0, torch.device("cuda"), torch.device("cuda", 0)])
def test_every_way_to_name_the_gpu(device: Any) -> None:
    made = torch.ones(4, device=device)
    moved = torch.ones(4).to(device)
    typed = torch.ones(4).to(device, torch.float16)
    asked = torch.ones(4).to(device=device, dtype=torch.float16, non_blocking=True)
    for tensor in (made, moved, typed, asked, torch.ones(4).cuda(), made + 1, made[1:], made.clone(), made.sum()):
        assert tensor.is_cuda and tensor.device == torch.device("cuda", 0) and tensor.get_device() == 0
    assert typed.dtype == asked.dtype == torch.float16
    assert torch.device(0) == torch.device("cuda", 0)


def test_memory_of_compiled_code_is_on_the_gpu() -> None:
    made = torch._C._dynamo.guards._empty_strided_cuda((4, 2), (2, 1), torch.float16)
    assert made.is_cuda and made.shape == (4, 2) and made.dtype == torch.float16


def test_dynamo_can_be_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports names of builds for CUDA."""
    monkeypatch.delitem(sys.modules, "torch._inductor.cudagraph_trees", raising=False)
    import_module("torch._dynamo").reset()


def test_current_device_is_a_number() -> None:
    x = torch.ones(4, device=torch.cuda.current_device())
    assert x.device.type == "cuda" and x.device.index == 0


def test_tensors_of_the_host() -> None:
    for tensor in (torch.ones(4), torch.from_numpy(np.ones(4)), torch.ones(4, device="cuda").cpu(), torch.tensor([1])):
        assert not tensor.is_cuda and tensor.device.type == "cpu" and tensor.get_device() == -1
        assert not (tensor + tensor).is_cuda
    assert torch.zeros_like(torch.ones(2, device="cuda"), device="cpu").device.type == "cpu"
    assert torch.zeros_like(torch.ones(2, device="cuda")).device.type == "cuda"


def test_a_move_is_a_copy() -> None:
    host = torch.zeros(4)
    there = host.to("cuda")
    there += 1
    back = there.cpu()
    there += 1
    assert host.tolist() == [0] * 4 and back.tolist() == [1] * 4 and there.tolist() == [2] * 4
    assert there.to("cuda") is there and there.cuda() is there
    array = np.zeros(4, np.float32)
    copied = torch.as_tensor(array, device="cuda")
    copied += 1
    assert array.tolist() == [0] * 4


def test_the_default_device() -> None:
    torch.set_default_device("cuda")
    try:
        assert torch.ones(4).is_cuda and torch.get_default_device().type == "cuda"
        assert not torch.ones(4, device="cpu").is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.ones(4).is_cuda
    with torch.device("cuda"):
        assert torch.ones(4).is_cuda
    assert not torch.ones(4).is_cuda


@pytest.mark.parametrize("device", ["cuda", 0, torch.device("cuda", 0)])
def test_models(device: Any) -> None:
    model = torch.nn.Linear(4, 4).to(device)
    assert {p.device.type for p in model.parameters()} == {"cuda"}
    assert {p.device.type for p in copy.deepcopy(model).parameters()} == {"cuda"}
    assert {p.device.type for p in torch.nn.Linear(4, 4).cuda().half().parameters()} == {"cuda"}
    loss = model(torch.ones(2, 4, device=device)).sum()
    loss.backward()
    assert loss.is_cuda and model.weight.grad.is_cuda
    assert {p.device.type for p in model.cpu().parameters()} == {"cpu"}


class Double(torch.autograd.Function):  # type: ignore[misc]  # torch has no types
    """Asserts that everything is on the GPU, as real ones do."""

    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        assert x.is_cuda
        out = torch.empty_like(x)
        add(x, x, out)
        return out

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        assert gradient.is_cuda and gradient.device.type == "cuda"
        out = torch.empty_like(gradient)
        add(gradient, gradient, out)
        return out


def test_gradients_are_on_the_gpu() -> None:
    x = torch.ones(32, device="cuda", requires_grad=True)
    (Double.apply(x) * 3).sum().backward()
    assert x.grad.tolist() == [6.0] * 32 and x.grad.is_cuda


# ---------------------------------------------------------------- random numbers, files, operators


def test_generators() -> None:
    generator = torch.Generator(device="cuda").manual_seed(5)
    first = torch.randn(8, device="cuda", generator=generator)
    assert generator.device.type == "cuda" and torch.Generator().device.type == "cpu"
    assert torch.equal(first, torch.randn(8, device="cuda", generator=torch.Generator("cuda").manual_seed(5)))
    torch.cuda.manual_seed(7)
    state = torch.cuda.get_rng_state()
    first = torch.rand(8, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(8, device="cuda"))
    assert torch.cuda.initial_seed() == 7 and len(torch.cuda.get_rng_state_all()) == 1


@pytest.mark.parametrize("own", [False, True])
def test_the_state_of_a_generator_is_a_seed_and_an_offset(own: bool) -> None:
    generator = torch.Generator("cuda") if own else torch.cuda.default_generators[torch.cuda.current_device()]
    assert isinstance(generator, torch.Generator)

    def draw() -> Any:
        return torch.rand(8, device="cuda", generator=generator)

    generator.manual_seed(3)
    before = generator.get_state()
    assert before.dtype == torch.uint8 and before.view(torch.int64).tolist() == [3, 0]
    first, between = draw(), generator.get_state()
    assert between.view(torch.int64)[0] == 3 and generator.get_offset() > 0
    second = draw()
    assert torch.equal(generator.set_state(between).get_state(), between) and torch.equal(draw(), second)
    generator.set_state(before)
    assert torch.equal(draw(), first) and torch.equal(generator.get_state(), between)
    between.view(torch.int64)[1] += 400  # as a program does that has drawn numbers by itself
    generator.set_state(between)
    third = draw()
    assert generator.initial_seed() == 3 and not torch.equal(third, second)
    generator.set_state(between)
    assert torch.equal(draw(), third) and generator.get_offset() > between.view(torch.int64)[1]
    with pytest.raises(RuntimeError, match="wrong size"):
        generator.set_state(torch.get_rng_state())


@pytest.mark.parametrize("place", ["cuda", torch.device("cuda", 0), {"cpu": "cuda:0"}])
def test_load(place: Any) -> None:
    file = io.BytesIO()
    torch.save({"w": torch.arange(4)}, file)
    file.seek(0)
    loaded = torch.load(file, map_location=place)["w"]
    assert loaded.is_cuda and loaded.tolist() == [0, 1, 2, 3]
    file.seek(0)
    assert not torch.load(file)["w"].is_cuda


def test_custom_operators() -> None:
    @torch.library.custom_op("tilery_test::double", mutates_args=(), device_types="cuda")  # type: ignore[untyped-decorator]
    def double(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        out = torch.empty_like(x)
        add(x, x, out)
        return out

    x = torch.ones(32, device="cuda")
    assert double(x).tolist() == [2.0] * 32
    assert torch.ops.tilery_test.double(x).is_cuda


@pytest.mark.parametrize("keys", [("CPU", "CUDA"), ("CUDA", "CPU")])
def test_operators_for_both_devices(keys: tuple[str, str]) -> None:
    """The one for CUDA is used, whichever was registered first."""
    name = f"tilery_{keys[0].lower()}_first"
    library = torch.library.Library(name, "DEF")
    library.define("f(Tensor x) -> Tensor")
    for key in keys:
        library.impl("f", lambda x, key=key: x + {"CPU": 1, "CUDA": 2}[key], key)
    assert getattr(torch.ops, name).f(torch.zeros(1, device="cuda")).item() == 2


@pytest.mark.parametrize("options", [{}, {"backend": "eager"}, {"mode": "max-autotune", "fullgraph": True}])
def test_compile(options: dict[str, Any]) -> None:
    @torch.compile(**options)  # type: ignore[untyped-decorator]
    def double(x: Any) -> Any:
        out = torch.empty_like(x)
        add(x, x, out)
        return out * 2

    assert double(torch.ones(16, device="cuda")).tolist() == [4.0] * 16
    model = torch.compile(torch.nn.Linear(2, 2).cuda(), **options)
    assert model(torch.ones(1, 2, device="cuda")).shape == (1, 2)


@pytest.mark.parametrize("kind", ["AdamW", "Adam", "SGD"])
def test_fused_optimizers(kind: str) -> None:
    model = torch.nn.Linear(4, 1).cuda()
    before = model.weight.detach().clone()
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1, fused=True)
    model(torch.ones(2, 4, device="cuda")).sum().backward()
    optimizer.step()
    assert not torch.equal(before, model.weight)


# ---------------------------------------------------------------- precision


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_autocast(kind: Any) -> None:
    x = torch.full((2, 2), 1 + 2.0**-12, device="cuda")
    assert (x @ x).dtype == torch.float32
    with torch.autocast("cuda", dtype=kind):
        product = x @ x
        assert product.dtype == kind and product.tolist() == [[2.0, 2.0]] * 2  # the factors were rounded
        assert torch.nn.functional.linear(x, x).dtype == kind
        assert torch.softmax(product, 0).dtype == torch.exp(product).dtype == torch.float32
        assert torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == kind
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype == torch.float32
    with torch.cuda.amp.autocast():
        assert (x @ x).dtype == torch.float16
    assert not torch.is_autocast_enabled("cuda")


def test_gradient_scaling() -> None:
    model = torch.nn.Linear(4, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024)
    before = model.weight.detach().clone()
    with torch.autocast("cuda"):
        loss = model(torch.ones(2, 4, device="cuda")).float().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(before, model.weight) and scaler.get_scale() == 1024


# ---------------------------------------------------------------- memory, streams, events


def test_memory_statistics() -> None:
    start = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    x = torch.ones(1 << 20, device="cuda")
    host = torch.ones(1 << 20)
    assert torch.cuda.memory_allocated() - start == 4 << 20 == host.nbytes
    assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == torch.cuda.memory_allocated()
    assert "allocated_bytes" in torch.cuda.memory_summary()
    del x
    assert torch.cuda.memory_allocated() == start
    assert torch.cuda.max_memory_allocated() - start >= 4 << 20
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


def test_the_accelerator_is_the_device() -> None:
    """`torch.accelerator` has other names for some functions of `torch.cuda`."""
    x = torch.ones(1 << 10, device=f"cuda:{torch.accelerator.current_device_index()}")
    torch.accelerator.set_device_index(0)
    with torch.accelerator.device_index(x.device.index):
        torch.accelerator.synchronize()
    assert torch.accelerator.memory_allocated() == torch.cuda.memory_allocated() >= x.nbytes
    start, end = torch.Event(enable_timing=True), torch.Event("cuda", enable_timing=True)
    start.record()
    end.record(torch.accelerator.current_stream())
    assert end.query() and start.elapsed_time(end) > 0
    if hasattr(torch.accelerator, "empty_host_cache"):
        torch.accelerator.empty_host_cache()
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() >= x.nbytes
    assert torch.accelerator.memory_stats() == torch.cuda.memory_stats()
    torch.accelerator.empty_cache()


def test_streams_and_ranges() -> None:
    stream = torch.cuda.Stream()
    x = torch.ones(16, device="cuda")
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        x.record_stream(stream)
    assert torch.cuda.ExternalStream(stream.cuda_stream) == stream
    with torch.cuda.nvtx.range("a"):
        assert torch.cuda.nvtx.range_push("b") == 1
        assert torch.cuda.nvtx.range_pop() == 1
    assert torch.ones(4).pin_memory().tolist() == [1] * 4


def test_events_measure_time() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    time.sleep(0.02)
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 19


# ---------------------------------------------------------------- graphs


def test_a_graph_replays_operations_of_torch() -> None:
    x = torch.ones(16, device="cuda")
    total = torch.zeros(16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        y = x * 2
        z = torch.empty_like(y)
        add(y, x, z)
        w = torch.sqrt(z.view(4, 4).t()).sum()
        total += z
        zeros = torch.zeros(4, device="cuda")
        zeros += x[:4]
    assert not torch.cuda.is_current_stream_capturing()
    assert total.tolist() == [0.0] * 16  # nothing takes effect during the capture
    for n, value in enumerate((1.0, 12.0, 3.0), 1):
        x.fill_(value)
        before = total.clone()
        graph.replay()
        assert y.tolist() == [2 * value] * 16 and z.tolist() == [3 * value] * 16
        assert w.item() == pytest.approx(16 * (3 * value) ** 0.5)
        assert torch.equal(total, before + 3 * value), n
        assert zeros.tolist() == [value] * 4


def test_a_graph_of_a_model_with_gradients() -> None:
    model = torch.nn.Linear(4, 4).cuda()
    data = torch.ones(2, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()):
        loss = model(data).square().sum()
        (gradient,) = torch.autograd.grad(loss, [model.weight])
    data.fill_(3)
    graph.replay()
    expected = torch.autograd.grad(model(data).square().sum(), [model.weight])[0]
    assert torch.allclose(gradient, expected) and loss.item() == pytest.approx(model(data).square().sum().item())


def test_a_capture_refuses_to_wait_for_a_result() -> None:
    x = torch.ones(4, device="cuda")
    message = "operation not permitted when stream is capturing"
    with pytest.raises(RuntimeError, match=message), torch.cuda.graph(torch.cuda.CUDAGraph()):
        if x.sum() > 3:
            x += 1
    assert torch.ones(4).sum().item() == 4


WITHOUT_TRITON = """
from tilery.cutile import on
from tilery.programs.standins import modules
modules.find_spec = lambda name: None
with on():
    import torch, triton.testing
    layer = torch.nn.Linear(4, 4).cuda()
    layer(torch.ones(2, 4, device="cuda")).sum().backward()
    torch.optim.AdamW(layer.parameters(), fused=True).step()
    assert not hasattr(triton, "language")
"""


def test_torch_does_not_take_the_stand_in_for_triton() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT_TRITON], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- results that a GPU rounds once


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["log_softmax", "logsumexp", "cross_entropy", "normalize", "batch_norm"])
def test_functions_round_once(name: str, kind: str) -> None:
    """The result is that of f64, rounded once."""
    F = torch.nn.functional
    x = torch.randn(33, 257, generator=torch.Generator().manual_seed(3)).to(getattr(torch, kind))
    wide, classes = x.double(), torch.arange(33)
    mean, var = torch.zeros(257), torch.ones(257)
    calls = {
        "log_softmax": lambda x: F.log_softmax(x, -1),
        "logsumexp": lambda x: torch.logsumexp(x, -1),
        "cross_entropy": lambda x: F.cross_entropy(x, classes),
        "normalize": lambda x: F.normalize(x, dim=-1),
        "batch_norm": lambda x: F.batch_norm(x, mean.to(x.dtype), var.to(x.dtype), training=True),
    }
    with torch._C.DisableTorchFunction():
        expected = calls[name](wide)
    result = calls[name](x.cuda()) if name != "cross_entropy" else F.cross_entropy(x.cuda(), classes.cuda())
    assert result.dtype == x.dtype
    nearest = torch.from_numpy(expected.numpy())
    error = (result.cpu().double() - nearest).abs()
    half_ulp = torch.finfo(x.dtype).eps * nearest.abs().clamp(min=torch.finfo(x.dtype).tiny) / 2
    assert (error <= half_ulp * 1.0001).all()


def test_functions_round_once_into_given_memory() -> None:
    a, b = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((4, 64), (64, 5)))
    c, out = torch.randn(4, 5, device="cuda"), torch.zeros(4, 5, device="cuda")
    product = a.cpu().double() @ b.cpu().double()
    assert torch.addmm(c, a, b, out_dtype=torch.float32, out=out) is out
    assert torch.equal(out.cpu(), (c.cpu().double() + product).float())
    torch.mm(a, b, out_dtype=torch.float32, out=out)
    assert torch.equal(out.cpu(), product.float())
    ones, total = torch.ones(2, 3000, device="cuda", dtype=torch.float16), torch.zeros(2, device="cuda").half()
    assert torch.sum(ones, 1, out=total).tolist() == [3000, 3000]


def test_batch_norm_updates_its_statistics() -> None:
    norm = torch.nn.BatchNorm1d(8).cuda()
    norm(torch.arange(32.0, device="cuda").reshape(4, 8))
    assert norm.running_mean.tolist() == pytest.approx([1.2 + 0.1 * i for i in range(8)])
    assert norm.num_batches_tracked == 1


# ---------------------------------------------------------------- names of torch.cuda


def test_types_of_the_gpu() -> None:
    x = torch.cuda.FloatTensor([1, 2])
    assert x.is_cuda and x.type() == "torch.cuda.FloatTensor" and x.cpu().type() == "torch.FloatTensor"
    assert torch.ones(2).type("torch.cuda.HalfTensor").is_cuda
    assert x.type(torch.int32).is_cuda and not x.type("torch.IntTensor").is_cuda


def test_array_interface() -> None:
    x = torch.arange(6, dtype=torch.float32, device="cuda").reshape(2, 3)
    found = x.__cuda_array_interface__
    assert found["shape"] == (2, 3) and found["typestr"] == "<f4" and found["data"] == (x.data_ptr(), False)
    assert x.T.__cuda_array_interface__["strides"] == (4, 12)
    with pytest.raises(AttributeError):
        _ = x.cpu().__cuda_array_interface__


def test_what_else_programs_ask_for() -> None:
    found = torch.cuda.get_device_properties(0)
    assert found.shared_memory_per_block == 49152 and len(found.uuid.bytes) == 16 and found.is_integrated == 0
    assert torch.cuda.Stream(priority=-1).priority == -1 and torch.cuda.utilization() == 0
    assert torch.cuda.cudart().cudaProfilerStart() == 0
    torch.cuda.profiler.start()
    torch.cuda._sleep(1000)
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.seed_all()
    with torch.cuda.device_of(torch.ones(1)):
        torch.cuda.profiler.stop()
