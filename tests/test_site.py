"""The site: what is assembled for Sphinx, how built pages are checked, and the files that publish a release."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
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
from website.questions import SETS, page, questions

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
    last = asked[-1]
    among = sum(q["set"] == last["set"] for q in asked)
    found = [[q["pages"][0]] for q in asked[:-1]] + [["other"]]
    shown = page(asked, found, 7)
    assert f"| {SETS[last['set']]} | {among} | {among - 1} |" in shown
    assert all(f"| {q['ask']} | {q['set']} | `{q['pages'][0]}` | 1 |" in shown for q in asked[:-1])
    missing = [p for q in asked for p in q["pages"] if not _is_page(p)]
    assert missing == []


SITE = {
    "lint": """<article role="main"><section id="lint"><h1>Lint a kernel<a class="headerlink">#</a></h1><p>It finds
        faults of <code>load_view_tko</code>.</p><section id="quiet"><h2>Suppress a finding</h2><p>A comment
        <b>turns</b> a rule off.</p></section></section></article>""",
    "judge": """<article role="main"><section id="judge"><h1>Judge kernels</h1><p>Each kernel runs in a jail.</p>
        <table><tr><td>A compiler falls over</td><td><a href="reduce.html#reduce">small</a></td></tr></table>
        <img src="a.svg" alt="A verdict"><script>suppress()</script></section></article>""",
    "reduce": """<article role="main"><section id="reduce"><h1>Reduce a module</h1><p>From a crash to ten lines. A
        comment is kept; a kernel, a rule, many more words about other things.</p></section></article>""",
}


def _ask(folder: Path, *questions: list[str]) -> list[list[list[str]]]:
    """Return what the ranking finds for words that are stems already."""
    sections = pytest.importorskip("website.sections", reason="snowballstemmer is not installed")
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    for name, text in SITE.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    known = {"docnames": [*SITE], "titles": ["Lint a kernel", "Judge kernels", "Reduce a module"], "filenames": [*SITE]}
    (folder / "searchindex.js").write_text(f"Search.setIndex({json.dumps(known)})", "utf-8")
    sections.write(folder)
    scorer = (ROOT / "scripts" / "website" / "theme" / "scorer.js").read_text("utf-8")
    index = (folder / "searchindex.js").read_text("utf-8")
    script = f"""const Search = {{ setIndex: (index) => (Search._index = index) }};
    {scorer}
    {index}
    const asked = {json.dumps(questions)};
    const found = asked.map((words) => Search.performTermsSearch(words, []).sort((a, b) => b[4] - a[4]));
    console.log(JSON.stringify(found));"""
    done = subprocess.run([node, "-"], input=script, capture_output=True, text=True, check=True)
    found: list[list[list[str]]] = json.loads(done.stdout)
    return found


def test_the_search_finds_the_section_that_is_about_the_question(tmp_path: Path) -> None:
    suppress, ignore, part, name, verdict, linked, nothing = _ask(
        tmp_path, ["suppress", "rule"], ["ignor", "find"], ["tko"], ["load_unknown"], ["verdict"], ["fall"],
        ["constructor"],
    )  # fmt: skip
    assert suppress[0][:3] == ["lint", "Lint a kernel > Suppress a finding", "#quiet"]
    assert {name for name, *_ in suppress} == {"lint", "reduce"}, "scripts are not read"
    assert ignore[0][2] == "#quiet", "another word for the same is found"
    assert [found[:3] for found in part] == [["lint", "Lint a kernel", ""]], "a part of a name is found"
    assert [found[0] for found in name] == ["lint"], "so is a name of which a part is known"
    assert {found[0] for found in linked} == {"reduce", "judge"}, "a row of a table is about what it links to"
    assert [found[0] for found in verdict] == ["judge"], "what pictures show is found"
    assert nothing == []


def _is_page(name: str) -> bool:
    folder, _, last = name.rpartition("/")
    if folder == "api":
        return last in source.API
    if folder == "project":
        return f"{last}.md" in source.PROJECT
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
