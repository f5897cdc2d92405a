"""Help and usage: every verb explains itself, and a wrong command line is one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import ENV, run
from tilery.cli.completions import SCRIPTS, verbs_of
from tilery.cli.main import main, make_parser, parse
from tilery.cli.verbs import VERBS


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("cutile", "triton", "cpp", "debug")])
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert f"examples:\n  tilery {verb}" in capsys.readouterr().out


def test_help_names_every_verb() -> None:
    assert all(f"    {verb} " in make_parser().format_help() for verb in VERBS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("tilery ")


@pytest.mark.parametrize("argv", [["nonsense"], ["info"], ["convert", "x"], ["convert", "x", "--version", "9.9"]])
def test_usage_errors_exit_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: tilery" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["info", "dis", "asm", "dump", "fmt"])
def test_a_missing_file_is_one_clear_line(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing"
    assert main([verb, str(missing)]) == 2
    assert capsys.readouterr().err == f"tilery: cannot read '{missing}': no such file or directory\n"


def test_a_folder_is_not_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_help_loads_nothing_but_itself() -> None:
    code = (
        "import sys; from tilery.cli.main import make_parser; make_parser(); "
        "print(*(m for m in sys.modules if m.startswith('tilery.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENV, check=True)
    loaded = {name for name in done.stdout.split() if not name.startswith("tilery.cli")}
    assert loaded <= {
        f"tilery.{name}" for name in ("checking", "diag", "engines", "engines.registry", "hooks", "version")
    }
    assert "tilery.cli.arguments" not in done.stdout


def test_the_command_alone_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == make_parser().format_help()


@pytest.mark.parametrize("words", [["dis"], ["cutile", "run"]])
def test_help_of_a_verb_is_its_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", *words]) == 0
    shown = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    assert capsys.readouterr().out == shown
    assert "exit status" not in shown


def test_help_suggests_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "chekc"]) == 2
    assert "did you mean 'check'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["diss", "x"], "there is no verb 'diss'; did you mean 'dis'?"),
        (["dis", "--no-verfy", "x"], "did you mean '--no-verify'?"),
        (["dis", "--style", "generc", "x"], "did you mean 'generic'?"),
        (["cutile", "rum", "x"], "there is no verb 'rum'; did you mean 'run'?"),
    ],
)
def test_wrong_words_have_suggestions(argv: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert hint in capsys.readouterr().err


def test_the_plain_form_has_the_parsers_arguments() -> None:
    assert vars(parse(["dis", "x"])) == vars(make_parser("dis").parse_args(["dis", "x"]))


def test_the_plain_form_imports_nothing_slow(kernel: Path) -> None:
    code = (
        "import sys; from tilery.cli.main import main; main(['dis', sys.argv[1]]); "
        "sys.stderr.write(' '.join(sys.modules))"
    )
    command = [sys.executable, "-S", "-c", code, str(kernel)]
    loaded = subprocess.run(command, capture_output=True, text=True, env=ENV, check=True).stderr.split()
    assert "tilery.text.print.printer" in loaded
    assert not {"argparse", "typing", "fractions", "dataclasses", "difflib", "re", "weakref"} & set(loaded)


def test_short_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-V"])
    assert capsys.readouterr().out.startswith("tilery 0.")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_completion_knows_every_verb_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "--completion", shell]) == 0
    script = capsys.readouterr().out
    for verb in verbs_of(make_parser()):
        assert verb.words[-1] in script
        assert all(names[-1].lstrip("-") in script for names, _, _ in verb.options)


def test_bash_completes(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_bytes(run("help", "--completion", "bash").stdout)
    for words, wanted in (("tilery di", "dis diff"), ("tilery dis --sty", "--style"), ("tilery dis --style o", "opt")):
        line = words.split()
        code = (
            f"""source {script}; COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _tilery; echo "${{COMPREPLY[*]}}" """
        )
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
        assert done.stdout.split() == wanted.split()


def test_the_manual_page_has_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "--man"]) == 0
    page = capsys.readouterr().out.replace("\\-", "-")
    assert page.startswith(".TH TILERY 1\n")
    for verb in verbs_of(make_parser()):
        assert all(names[-1] in page for names, _, _ in verb.options if "--help" not in names)
