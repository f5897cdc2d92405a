"""Pipelines: passes in the order in which they run, in the syntax of mlir-opt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..declare.gcpause import paused
from ..declare.operation import BY_NAME
from ..declare.relations import FUNCTION
from ..diag import TileError, did_you_mean
from ..ir import Op
from ..ops import Module
from ..rewrite import Report, isolated
from .registry import OptionValue, Pass, find_pass


@dataclass(slots=True)
class PipelineStep:
    """A pass in a pipeline, its options, and the operations it runs on."""

    run: Pass
    options: dict[str, OptionValue]
    anchors: tuple[str, ...]
    """The names of the operations that it is nested in, the outermost first."""


@dataclass(slots=True)
class Pipeline:
    """Passes in the order in which they run."""

    steps: list[PipelineStep] = field(default_factory=list)


TOKEN = re.compile(r"\s*(?:(?P<name>[\w.$:-]+)|(?P<sign>[(){},=])|(?P<quoted>\"[^\"]*\"|'[^']*'))")
ANCHORS = ("any", "builtin.module", "cuda_tile.entry", "cuda_tile.module", "cuda_tile.testing$func")
MAX_PIPELINE = 10_000


def parse_pipeline(text: str) -> Pipeline:
    """Read `canonicalize,cse` or `builtin.module(cuda_tile.module(cuda_tile.entry(loop-split{split-threshold=3})))`.

    >>> [step.run.name for step in parse_pipeline("canonicalize, cse").steps]
    ['canonicalize', 'cse']
    """
    if len(text) > MAX_PIPELINE:
        raise TileError(f"the pipeline is longer than {MAX_PIPELINE} characters")
    tokens = list(_tokens(text))
    pipeline, anchors, at = Pipeline(), list[str](), 0
    while at < len(tokens):
        token = tokens[at]
        if token == ")" and anchors:
            anchors.pop()
            at += 1
        elif token == "," and at:
            at += 1
        elif tokens[at + 1 : at + 2] == ["("]:
            if token not in ANCHORS:
                raise TileError(f"pipeline: '{token}' holds no passes, only these do: {', '.join(ANCHORS)}")
            anchors.append(token)
            at += 2
        elif token in ("(", ")", "{", "}", "=", ","):
            raise TileError(f"pipeline: expected the name of a pass, got '{token}' in {text!r}")
        else:
            found = find_pass(token)
            options, at = _options(found, tokens, at + 1)
            pipeline.steps.append(PipelineStep(found, options, tuple(anchors)))
            if at < len(tokens) and tokens[at] not in (",", ")"):
                raise TileError(f"pipeline: expected ',' after '{token}', got '{tokens[at]}'")
    if anchors:
        raise TileError(f"pipeline: '{anchors[-1]}(' is not closed")
    return pipeline


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text.rstrip()):
        found = TOKEN.match(text, at)
        if found is None:
            raise TileError(f"pipeline: unexpected {text[at:].strip()[:1]!r} in {text!r}")
        yield found["name"] or found["sign"] or found["quoted"][1:-1]
        at = found.end()


def _options(found: Pass, tokens: list[str], at: int) -> tuple[dict[str, OptionValue], int]:
    """Parse the options in braces after the name of a pass; return them and the position after them."""
    known = {option.name: option for option in found.options}
    given = {option.name.replace("-", "_"): option.default for option in found.options}
    if tokens[at : at + 1] != ["{"]:
        return given, at
    at += 1
    while tokens[at : at + 1] != ["}"]:
        name, equals, value = [*tokens[at : at + 3], "", "", ""][:3]
        if equals != "=" or not value:
            raise TileError(f"{found.name}: expected options as {{name=value}}")
        if name not in known:
            there_are = f"there are: {', '.join(known)}" if known else "it has none"
            raise TileError(f"{found.name}: unknown option '{name}', {there_are}{did_you_mean(name, known)}")
        at += 3
        while tokens[at : at + 1] == [","] and tokens[at + 2 : at + 3] != ["="]:  # a list
            value += f",{tokens[at + 1]}"
            at += 2
        given[name.replace("-", "_")] = known[name].read(value, found.name)
    return given, at + 1


def run_pipeline(
    module: Module,
    pipeline: Pipeline,
    after: Callable[[PipelineStep, Report], None] | None = None,
    *,
    log: bool = False,
) -> Report:
    """Run passes on a module, in place. After each one, `after` is called with that pass's own report.

    With `log`, reports have every rule that fired, in order.
    """
    total = Report()
    with paused:  # passes create little cyclic garbage, and collecting it takes a third of the time
        for step in pipeline.steps:
            report = Report(log=[] if log else None)
            for root in _roots(module, step):
                step.run.run(root, report, **step.options)
            if report.changed and module.layout is not None:
                module.layout = module.layout.changed()
            total.add(report)
            if after is not None:
                after(step, report)
    return total


def _roots(module: Module, step: PipelineStep) -> list[Op]:
    """The operations that a step runs on, chosen by its innermost anchor, or else by the kind of pass."""
    anchor = step.anchors[-1].rpartition(".")[2] if step.anchors else "any"
    if (found := BY_NAME.get(anchor)) is not None and found.has(FUNCTION):
        if step.run.on == "module":
            raise TileError(f"pass '{step.run.name}' works on a module, it cannot run on '{step.anchors[-1]}'")
        return [o for o in isolated(module) if o.name == anchor]
    return isolated(module) if step.run.on == "function" else [module]
