"""The declarations: operations with their fields, layouts and traits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from golden.table import group
from tilery.bytecode.layout import layout
from tilery.declare.operation import BY_NAME
from tilery.version import SUPPORTED


@group("tables/operations")
def operations() -> Iterator[str]:
    for name in sorted(BY_NAME):
        d = BY_NAME[name]
        facts = [
            d.opcode, d.since, d.group, d.format, d.example, sorted(map(str, d.traits)), len(d.rules), d.segmented,
            d.formerly, d.renamed, d.implicit, d.parents, d.hint, d.syntax,
        ]  # fmt: skip
        fields = [
            f"{f.name} {f.role} {getattr(f.kind, 'text', f.kind)} {f.since} {f.arity} {f.default!r}" for f in d.fields
        ]
        plans = [f"{version} {layout(d, version)!r}" for version in SUPPORTED if d.since <= version and not d.testing]
        yield re.sub(r"<[^<>]*0x[0-9a-f]+>", "", "\n".join([*map(str, facts), *fields, *plans]))
