"""The door for what others wrote."""

import json

import pytest

from connectx_toolkit.system.foreign import (
    LONGEST_NAME,
    MOST_BYTES,
    from_json,
    integer,
    left_out_lines,
    noting,
    number,
    printable,
    text,
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_json_in_the_encodings_that_programs_write(encoding):
    assert from_json(json.dumps({"team": "Ångström"}, ensure_ascii=False).encode(encoding)) == {"team": "Ångström"}
    assert from_json("\ufeff[1]") == [1]


@pytest.mark.parametrize("content", ["", "{", "[" * 10**6, "1" * 5000, b"\xff\xfe\xff", b"\x80"])
def test_what_is_no_json(content):
    with pytest.raises(ValueError, match=r"^it is not JSON$"):
        from_json(content)


def test_a_document_that_is_too_large():
    with pytest.raises(ValueError, match="more than 64 MiB"):
        from_json(b" " * (MOST_BYTES + 1))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400, 1.0, True, None, "1", []])
def test_what_is_no_integer_that_can_be_stored(value):
    with pytest.raises(ValueError, match=r"^x should be an integer"):
        integer(value, "x")
    assert integer(2**63 - 1, "x") == 2**63 - 1


@pytest.mark.parametrize("value", [10**400, 1e999, -1e999, float("nan"), "inf", "", True, None, [], {}])
def test_what_is_no_finite_number(value):
    with pytest.raises(ValueError, match=r"^x should be a finite number"):
        number(value, "x")
    assert (number("1021.3", "x"), number(7, "x", 0.0)) == (1021.3, 7.0)
    with pytest.raises(ValueError, match="finite number"):
        number(-0.5, "x", 0.0)


def test_texts_can_be_printed():
    """Escape sequences are shown, not sent; words of all scripts and emojis stay as they are."""
    assert printable("\x1b[2J\x07\n\ud800\u202e\x9b") == r"\x1b[2J\x07\n\ud800\u202e\x9b"
    for name in ("Ångström", "東京 チーム", "👩\u200d💻", "[bold]x[/]", "a\\b", "می\u200cرود"):
        assert text(name, "a name") == name
    assert (
        printable("x" * 10**6) == "x" * (LONGEST_NAME - 3) + "..."
        and len(printable("\x00" * LONGEST_NAME)) == LONGEST_NAME
    )
    printable("".join(map(chr, range(0x11000)))).encode()
    with pytest.raises(ValueError, match="a name should be a text, not b"):
        text(b"x", "a name")


def test_one_bad_item_does_not_end_the_others():
    left_out: list[str] = []
    for name in map(str, range(12)):
        with noting(left_out, f"file {name}"):
            raise [ValueError(f"file {name} is empty"), OverflowError("too\nlarge"), KeyError()][int(name) % 3]
    assert left_out[:3] == ["file 0 is empty", "file 1: too large", "file 2: KeyError"]
    lines = left_out_lines(left_out)
    assert lines[0] == "left out: file 0 is empty" and len(lines) == 11
    assert lines[-1] == "left out: 2 more"
    assert left_out_lines(left_out[:1]) == ["left out: file 0 is empty"]
    assert left_out_lines([]) == []
