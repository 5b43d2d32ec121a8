"""What Kaggle passes to an agent: a dict whose entries can be read as attributes, too."""

from typing import Any


class Struct(dict):
    """An observation or a configuration, as kaggle_environments.utils has it."""

    def __init__(self, **entries: Any) -> None:
        super().__init__(entries)
        self.__dict__.update(entries)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self[name] = value
