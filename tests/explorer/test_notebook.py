"""The panes in a notebook."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np

import tilery
from tilery.explorer.notebook import view
from tilery.sanitize import Sanitizer

from .requests import example


class Frame(HTMLParser):
    """The attributes of the only element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(dict(attrs))


def exported(html: str) -> dict[str, dict[str, dict[str, list[dict[str, object]]]]]:
    (frame,) = Frame(html).found
    assert frame["sandbox"] == "allow-scripts"
    page = frame["srcdoc"] or ""
    start = page.index('id="exported">') + len('id="exported">')
    data: dict[str, dict[str, dict[str, list[dict[str, object]]]]] = json.loads(
        page[start : page.index("</script>", start)]
    )
    return data


def test_a_module_with_hostile_names_stays_in_its_frame() -> None:
    module = tilery.parse('entry @"\\22></iframe><script>x</script>"() { return }')
    assert exported(view(module)._repr_html_())["responses"]["analyse"]["functions"]


def test_reports_are_at_their_operations() -> None:
    module = tilery.parse(example("faulty"))
    sanitizer = Sanitizer("all")
    tilery.compile(module).launch(4, [np.ones(256, np.float32), np.zeros(1, np.int32)], sanitize=sanitizer)
    run = exported(view(module, reports=sanitizer.reports)._repr_html_())["responses"]["run"]
    assert {report["check"] for report in run["reports"]} == {"bounds", "race"}
