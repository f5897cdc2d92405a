"""The site: what is assembled for Sphinx, how built pages are checked, and the files that publish a release."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import sbom
import tilery
from pictures import session
from support.oracle import ROOT
from tilery.manual.pictures import operation_svg
from tilery.ops import registered
from website import assemble as source
from website.docstrings import as_rst
from website.flowchart import columns, draw, parse
from website.pages import check, write_llms
from website.questions import page, questions

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)


@pytest.fixture(scope="module")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux":
        pytest.skip("the API has modules that need Linux")
    folder = tmp_path_factory.mktemp("site")
    source.assemble(folder)
    return folder


def test_every_link_of_the_source_leads_to_a_file(assembled: Path) -> None:
    broken = [
        f"{path.relative_to(assembled)}: {target}"
        for path in sorted(assembled.rglob("*.md"))
        if "files" not in path.relative_to(assembled).parts
        for target in LINK.findall(CODE.sub("", path.read_text("utf-8")))
        if not (path.parent / target).exists()
    ]
    assert broken == []


def test_every_operation_has_a_page_with_its_picture_and_example(assembled: Path) -> None:
    folder = assembled / "reference" / "operations"
    for opdef in registered():
        text = (folder / f"{opdef.mnemonic}.md").read_text("utf-8")
        assert text.startswith(f"# {opdef.mnemonic}\n") and f"]({opdef.mnemonic}.svg)" in text
        assert "Example:" in text and opdef.summary in text
        assert all(f.name in (folder / f"{opdef.mnemonic}.svg").read_text("utf-8") for f in opdef.operands)


def test_every_page_is_in_the_navigation(assembled: Path) -> None:
    listed = {
        (path.parent / line).relative_to(assembled)
        for path in assembled.rglob("*.md")
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
        for line in block.splitlines()
        if line and not line.startswith(":")
    }
    found = [*assembled.rglob("*.md"), *(assembled / "api").glob("*.rst")]
    pages = {path.relative_to(assembled).parent / path.stem for path in found}
    assert {page for page in pages if page.parts[0] not in ("files", "index")} - listed == set()


def test_the_api_describes_every_promised_name(assembled: Path) -> None:
    text = "".join(path.read_text("utf-8") for path in (assembled / "api").glob("*.rst"))
    for name in set(tilery.__all__) - {"attrs", "ops", "types"}:
        assert f"tilery.{name}\n" in text or f"``{name}``" in text or f":: {name}\n" in text


def test_pictures_escape_names() -> None:
    assert "<script" not in draw("flowchart LR\n  a[<script>] --> b")
    assert all(operation_svg(opdef).count("<svg") == 1 for opdef in registered())


def test_flow_charts_are_laid_out_from_left_to_right() -> None:
    chart = parse("flowchart LR\n  a[one] -- two --> b & c((three))\n  c --> d[(four)] --> a\n  b <--> d")
    assert chart.nodes == {"a": "one", "b": "b", "c": "three", "d": "four"}
    place = columns(chart)
    assert place["a"] < place["b"] < place["d"] and place["a"] < place["c"] < place["d"]
    with pytest.raises(ValueError, match="not a node"):
        parse("flowchart LR\n  a{what} --> b")


def test_docstrings_become_restructured_text() -> None:
    given = ["Use `a_*` and *b*.", "- one_", "", "    literal `x`", "", ">>> f('`')", "1"]
    wanted = ["Use ``a_*`` and \\*b\\*.", "", "- one\\_", "", "::", "", "    literal `x`", "", ">>> f('`')", "1"]
    assert as_rst(given) == wanted


def test_faults_of_built_pages_are_found(tmp_path: Path) -> None:
    links = '<a href="b.html#y"></a><a href="#x"></a><a href="c.html"></a>'
    (tmp_path / "a.html").write_text(f'<p id="x">{links}<img src="a.html">')
    links = '<a href="a.html#x"></a><a href="https://example.org/"></a>'
    (tmp_path / "b.html").write_text(f'{links}<img src="a.html" alt="A">')
    assert check(tmp_path) == [
        "a.html: the picture a.html has no description",
        "a.html: b.html#y has no such place",
        "a.html: c.html does not exist",
    ]


def test_llms_txt_lists_pages_with_their_first_sentence(assembled: Path, tmp_path: Path) -> None:
    write_llms(assembled, tmp_path)
    text = (tmp_path / "llms.txt").read_text("utf-8")
    assert text.startswith("# tilery\n\n> ")
    assert "- [Run kernels on the CPU](guides/run.md): " in text
    assert (tmp_path / "guides" / "run.md").exists()


def test_the_report_counts_answers() -> None:
    asked = questions()
    held_out = [q for q in asked if q.get("held_out")]
    assert len(held_out) >= 10 and asked[-1] in held_out
    found = [[q["pages"][0]] for q in asked[:-1]] + [["other"]]
    shown = page(asked, found, 7)
    opened = len(asked) - len(held_out)
    assert f"{opened} of {opened} open" in shown and f"{len(held_out) - 1} of {len(held_out)} held-out" in shown
    missing = [p for q in asked for p in q["pages"] if not _is_page(p)]
    assert missing == []


def _is_page(name: str) -> bool:
    folder, _, last = name.rpartition("/")
    if folder == "api":
        return last in source.API
    if folder == "reference/operations":
        return last in {opdef.mnemonic for opdef in registered()}
    return (ROOT / "docs" / f"{name}.md").exists()


# ---------------------------------------------------------------- releases


def test_actions_are_pinned_to_commits() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
        assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in used), path.name


def test_the_recipe_has_the_version_and_the_command_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    assert f'version: "{project["version"]}"' in recipe
    assert f"tilery = {project['scripts']['tilery']}" in recipe
    for text in project["dependencies"]:
        assert re.sub(r"([<>=]+)", r" \1", text) in recipe


def test_the_bill_of_materials_lists_requirements_and_bundled_scripts() -> None:
    bill = sbom.bill()
    names = {part["name"] for part in bill["components"]}
    assert {"numpy", "llvmlite"} <= names and any("codemirror" in name for name in names)
    refs = [part["bom-ref"] for part in bill["components"]]
    assert len(refs) == len(set(refs)) and set(bill["dependencies"][0]["dependsOn"]) <= set(refs)


def test_the_session_shows_the_programs_of_the_tour() -> None:
    picture = (ROOT / "docs" / "pictures" / "session.svg").read_text("utf-8")
    plain = re.sub(r"<[^>]*>", "", picture)
    assert all(command in plain for command in session.COMMANDS)
    for text in session.scripts().values():
        assert all(line.replace("&", "&amp;") in plain for line in text.splitlines()[4:8] if line)
    assert "race: store_view_tko" in plain and "at total.py:9:5 in total" in plain
