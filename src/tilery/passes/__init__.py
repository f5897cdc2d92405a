"""The passes: each by name with its options, and pipelines of them in the syntax of mlir-opt."""

from .pipeline import Pipeline, PipelineStep, parse_pipeline, run_pipeline
from .registry import HOMES, PASSES, Option, Pass, find_pass, load_passes, register

__all__ = [
    "HOMES",
    "PASSES",
    "Option",
    "Pass",
    "Pipeline",
    "PipelineStep",
    "find_pass",
    "load_passes",
    "parse_pipeline",
    "register",
    "run_pipeline",
]
