"""Kaggle as it is, in one package: how it takes, loads, asks and judges a submission, measured.

In the order of a submission's life:

- ``upload``: what kinds of file Kaggle takes; ``archive``: how it unpacks a .tar.gz.
- ``sandbox``: where it puts the file, what the machine around it has, and what the file reaches for.
- ``agent_file``: how it loads the file, which modules the file can import, which function it calls, and with what;
  ``sources`` tells the same of a source that is not a submission yet; ``agent_function``, which function is meant.
- ``rules``: its defaults and limits (2 s a move, 60 s of overage time), and what it calls each fault.
- ``seats``: its environment, and a game in it with a process for each seat, as Kaggle does.
- ``runner``: runs a file under test as on the judge.
- ``raised``: an exception as data, which a process under test can send.
- ``remedies``: where in the file a fault happened, which rule is behind it, and the cure; which packages there are.
- ``account``: your account there: submit a file, fetch its games.

docs/concepts/kaggle.md tells it in words. A submission's guard repeats the few facts that it needs: a test compares
them.
"""
