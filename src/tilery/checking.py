"""`TYPE_CHECKING` without importing `typing`, which would take a twentieth of the time of a command on a small file.

Type checkers know the name. Modules that every command imports get names that only annotations use in this way:

    if TYPE_CHECKING:
        from typing import Any
"""

TYPE_CHECKING = False
