"""The three scripts and connectx: the same commands, one version, and what each says when it is stopped."""

import pytest

from connectx_core import __version__
from connectx_toolkit.cli import train
from connectx_toolkit.cli.functions import COMMANDS, STORED
from connectx_toolkit.cli.main import USAGE, command_of, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("words", ["", "match leftmost middle --pairs 3", "list --json", "analyse 33 - --latest 2"])
def test_commands_of_evaluate_may_stand_alone(words):
    """They take the same options, and are called by their full name in messages."""
    if not words:
        assert all(name in USAGE for name in COMMANDS)
        return
    alone, whole = command_of("", words.split()), command_of("evaluate", words.split())
    assert alone[0] == whole[0] == f"evaluate {words.split()[0]}"
    (own,), (its,) = alone[1].args, whole[1].args  # type: ignore[attr-defined]
    assert vars(own).keys() == vars(its).keys() and all(
        vars(own)[name] == vars(its)[name] for name in vars(own) if name != "run"
    )


@pytest.mark.parametrize(
    ("word", "name"), [("evaluate", "evaluate"), ("build", "build_submission"), ("train", "train"), ("", "")]
)
def test_version(word, name, capsys):
    with pytest.raises(SystemExit) as stop:
        run(word, ["--version"])
    assert stop.value.code == 0 and capsys.readouterr().out == f"connectx-toolkit {__version__}\n"


def test_a_word_that_is_no_command(capsys):
    with pytest.raises(SystemExit) as stop:
        run("", ["mach"])
    (line,) = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2 and line.startswith("connectx: no command 'mach': it should be one of evaluate, build")


def test_usage_alone_is_an_error_and_help_is_none(capsys):
    for arguments, code in ([], 2), (["--help"], 0):
        with pytest.raises(SystemExit) as stop:
            run("", arguments)
        assert stop.value.code == code and capsys.readouterr().out == USAGE


@pytest.mark.parametrize("method", train.METHODS)
def test_a_stopped_method_says_whether_it_goes_on(method, monkeypatch, capsys, tmp_path):
    """Its Config says so, and so does the help of train.py."""
    monkeypatch.chdir(tmp_path)
    module = train.module_of(method)

    def stop(config):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "train", stop)
    (tmp_path / "model.zip").touch()
    first = {"adopt": ["model.zip"], "tune": ["agent.py"]}.get(method, [])
    assert run("train", [method, *first]) == 130
    words = STORED if module.Config.RESUMES else "the same command begins again"
    assert capsys.readouterr().err == f"train.py: stopped; {words}\n"
    told = (train.__doc__ or "").partition("If ")[2].partition("was interrupted")[0]
    assert (method in told.replace(",", " ").split()) == module.Config.RESUMES
