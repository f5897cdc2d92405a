"""Functions of upper layers that a lower one needs. The package fills them in when it is imported."""

from __future__ import annotations

from collections.abc import Callable

from .checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

attr_text: Callable[[Any], str]
"""Return the text of an attribute."""
show: Callable[[Any], str]
"""Return the text of a module."""
parse_type: Callable[[str], Any]
"""Return the type that a text spells."""
operate: Callable[..., Any]
"""Build what an operator on values is, with the builder that is open."""
edit: Callable[[Any], Any]
"""Start an edit of a module."""
builder: Callable[[Any], Any]
"""Make a builder for a module."""
to_html: Callable[[str], str]
"""Return text with colours, for a notebook."""
sanitizer: Callable[[Any], Any]
"""Return the sanitizer that an option of a launch asks for."""
