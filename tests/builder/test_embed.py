"""The submission's text: same bytes for the same inputs, sources and data that come back as they went in."""

import ast
import gzip
import io
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectx_toolkit.builder.build import archive_bytes, raw_literal, render
from connectx_toolkit.builder.embedded.importer import Modules
from connectx_toolkit.builder.source.inline import Inlined, inline

pytestmark = pytest.mark.slow
AGENT = "def agent(obs, config):\n    return 0\n"


@given(st.text(alphabet="\"'\\\nrx{}é", max_size=40))
def test_any_source_survives_its_quotes(text):
    source = text + "\n"
    assert ast.literal_eval(raw_literal(source)) == "\n" + source


def test_sources_stay_readable():
    source = 'X = """doc"""\nY = r"\\d"\n'
    assert source in raw_literal(source)
    assert "'''" in raw_literal(source + "Z = ''\n") and raw_literal("X = '''a'''\n").startswith('r"""')


def bundle(tmp_path, **files: bytes) -> Inlined:
    (tmp_path / "agent.py").write_text(AGENT)
    inlined = inline(tmp_path / "agent.py")
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        inlined.data[name] = tmp_path / name
    return inlined


def test_same_inputs_give_the_same_bytes_wherever_they_lie(tmp_path):
    texts = []
    for folder in ("here", "a longer place"):
        (tmp_path / folder).mkdir()
        texts.append(render(bundle(tmp_path / folder, b=bytes(range(256)), a=b"\0")))
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0] and "here" not in texts[0].split("SOURCES")[0]


def test_agent_is_bound_once_and_last(tmp_path):
    tree = ast.parse(render(bundle(tmp_path)))
    names = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    stores = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    assert names[-1] == "agent" and names.count("agent") == 1 and "agent" not in stores
    last = tree.body[-1]
    assert isinstance(last, ast.FunctionDef) and len(last.args.args) == 2 and not last.decorator_list


def parts(text: str) -> dict:
    """SOURCES and DATA of a submission, without loading its agent."""
    space: dict = {}
    exec(text[: text.index("GUARD = ")], space)
    return space


def test_data_comes_back_and_damage_is_noticed(tmp_path):
    content = np.random.default_rng(1).bytes(50_000)
    space = parts(render(bundle(tmp_path, blob=content)))
    modules = Modules(space["SOURCES"], space["DATA"], "")
    assert modules.read_data(f"{modules.prefix}.agent", "blob") == content
    assert modules.read_data(f"{modules.prefix}.agent", "./blob") == content
    with pytest.raises(FileNotFoundError, match="other is not embedded"):
        modules.read_data(f"{modules.prefix}.agent", "other")
    digest, text = space["DATA"]["blob"]
    broken = Modules(space["SOURCES"], {"blob": (digest, text.replace(text[200], "!", 1))}, "")
    with pytest.raises(ValueError, match="corrupt"):
        broken.read_data(f"{broken.prefix}.agent", "blob")


def test_archives_are_deterministic_and_hold_main_at_the_root():
    packed = archive_bytes(b"x = 1\n", {"data/é.bin": b"\0", "a.bin": b""})
    assert packed == archive_bytes(b"x = 1\n", {"a.bin": b"", "data/é.bin": b"\0"}) and gzip.decompress(packed)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == ["main.py", "a.bin", "data/é.bin"]
        assert all((member.mtime, member.uid, member.mode) == (0, 0, 0o644) for member in members)
        contents = [tar.extractfile(member) for member in members]
        assert [content and content.read() for content in contents] == [b"x = 1\n", b"", b"\0"]
