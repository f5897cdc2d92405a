"""`python -m tilery` is the command `tilery`."""

from .cli import program

if __name__ == "__main__":
    raise SystemExit(program())
