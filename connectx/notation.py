"""How games and openings are written: as columns counted from 0, "3342", or "3,3,10" if a column has two digits."""

from collections.abc import Sequence

Columns = tuple[int, ...]


def write_columns(columns: Sequence[int]) -> str:
    """The text of an opening or a game; ``parse_columns`` reads it.

    >>> write_columns((3, 3, 4, 2)), write_columns((3, 10))
    ('3342', '3,10')
    """
    if all(column < 10 for column in columns):
        return "".join(map(str, columns))
    return ",".join(map(str, columns)) + ("," if len(columns) == 1 else "")  # "10" is columns 1 and 0


def parse_columns(text: str) -> Columns:
    """The columns in a text as ``write_columns`` writes it.

    >>> parse_columns("3342"), parse_columns("10,")
    ((3, 3, 4, 2), (10,))

    Raises:
        ValueError: it is not a sequence of columns.
    """
    try:
        return tuple(int(column) for column in (text.removesuffix(",").split(",") if "," in text else text))
    except ValueError:
        raise ValueError(f"expected columns such as 3342 or 3,10,3, not {text!r}") from None
