"""Kaggle as it is, in one package: how it takes, loads, asks and judges a submission, measured.

In the order of a submission's life:

- ``upload``: what kinds of file Kaggle takes; ``archive``: how it unpacks a .tar.gz.
- ``folder``: where it puts the file, and what the machine around it has; ``mounts`` makes that place here.
- ``agent_file``: how it loads the file, which modules the file can import, and which function it calls; ``bindings``
  tells the same of a source that is not run.
- ``packages``: which third-party packages it has.
- ``rules``: its defaults and limits (2 s a move, 60 s of overage time), and what it calls each fault.
- ``observation``: what it passes to the agent.
- ``environment``: its own environment; ``seats`` plays a game there with a process for each seat, as Kaggle does.
- ``runner``: runs a file under test as on the judge, ``watch`` sees what it reaches for, ``slow_processor`` slows it.
- ``remedies``: where in the file a fault happened, which rule is behind it, and the cure.
- ``account``: your account there: submit a file, fetch its games.

docs/concepts/kaggle.md tells it in words. A submission's guard repeats the few facts that it needs: a test compares
them.
"""
