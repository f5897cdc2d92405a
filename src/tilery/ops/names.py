"""Names of operations that people try: mnemonics, their parts, and what other compilers call them."""

from __future__ import annotations

from . import registered

ELSEWHERE = {"matmul": "matrix product", "dot": "matrix product", "gemm": "matrix product", "cast": "convert"}
"""The names of operations in other compilers, and the words for them in the reference."""


def similar(name: str) -> list[str]:
    """Return mnemonics that contain a word, are described by what other compilers call it, or resemble it.

    >>> similar("matmul"), similar("load")[0]
    (['mmaf', 'mmaf_scaled', 'mmai'], 'load_ptr_tko')
    """
    from difflib import get_close_matches

    known = {d.mnemonic: f"{d.summary} {d.description}".lower() for d in registered()}
    word = name.lower().removeprefix("cuda_tile.")
    found = [op for op in known if word in op.split("_") or op.startswith(word)]
    found = found or [op for op, text in known.items() if (what := ELSEWHERE.get(word)) and what in text]
    return sorted(found) or get_close_matches(word, known, 3)
