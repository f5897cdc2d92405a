"""Mutations of bytes and texts that no writer would produce; `mutation` changes modules in memory."""

from __future__ import annotations

import random
import re

WORDS = (
    "%", "%0", "%n", "%arg0", "#x", "#loc", "!x", "^b:", '"', "{", "}", "(", ")", "<", ">", "[", "]", ":", ",", "=",
    "->", "-", "0x", "1.5", "99999999999999999999", "tile<4xf32>", "tile<i32>", "token", "loc(", "loc(#loc)",
    "loc(unknown)", "dense<", "\0", "é", "\\", "//", "// x\n", "x4", "\n", "\r", " ", "addi", "return", "else", "weak",
    "rounding<zero>",    "<i32: 1>", "attributes {a}", "{a = 1 : i32}", "unit", "true", "5", "\ud800",
)  # fmt: skip
_SPLIT = re.compile(r"(\s+|[%#@!\w$.-]+)")


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Make a few random changes, most of them small."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not out:
            break
        at = rng.randrange(len(out))
        match rng.randrange(8):
            case 0:
                del out[at : at + rng.choice((1, 2, 8))]
            case 1:
                out[at:at] = rng.randbytes(rng.choice((1, 2, 4)))
            case 2:
                del out[at:]
            case 3:
                out[at:at] = b"\xff" * 9
            case _:
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256), out[at] ^ 1))
    return bytes(out)


def mutate_text(text: str, rng: random.Random) -> str:
    """Make a few random changes: characters, words of the language, words and lines from elsewhere in the text."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(7):
            case 0:
                text = text[:at] + rng.choice(WORDS) + text[at + rng.randrange(4) :]
            case 1:
                text = text[:at] + text[at + rng.choice((1, 2, 8)) :]
            case 2:
                text = text[:at] + chr(rng.randrange(32, 127)) + text[at + 1 :]
            case 3:
                text = text[:at] if rng.random() < 0.3 else text[:at] + " " + text[at:]
            case 4:
                lines = text.split("\n")
                one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[one], lines[other] = lines[other], rng.choice((lines[one], lines[other]))
                text = "\n".join(lines)
            case _:
                words = _SPLIT.split(text)
                words[rng.randrange(len(words))] = rng.choice((rng.choice(words), rng.choice(WORDS)))
                text = "".join(words)
    return text
