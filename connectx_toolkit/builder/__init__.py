"""From an agent to the one file that Kaggle accepts.

- ``submission``: a build or a check from beginning to end; ``build``: writes the file of what is collected.
- ``source``: collects an agent's modules and data; ``notebook``: writes them, of a notebook or a live function.
- ``embedded``: what each built file contains besides: the importer and the guard.
- ``preflight``: whether Kaggle accepts a file; ``comparison``: whether it plays as its ``originals``.
"""
