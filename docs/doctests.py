"""For mkdocstrings: examples in docstrings are shown as code. In Markdown, ">>>" alone would be three quotations."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.M)  # up to the next empty line


class DoctestsAsCode(griffe.Extension):
    """Puts each example that stands in no section of its own between fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
