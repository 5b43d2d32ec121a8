"""The parts of train.py: everything that makes agents/weights. Never part of a submission.

A method is one module with a Config and train(config): those of the course and the books in ``learners``, those that
make the toolkit's own files in ``makers``, that for models of one's own in ``adopt``, which asks ``user_model``. The
other modules here are what they share.
"""
