"""The toolkit's agents, one in each file: ``from agents.minimax import agent``; where pip has installed the toolkit,
``from connectx_toolkit.agents.minimax import agent``.

This file makes the folder a package. A folder without it comes after any ``agents.py`` on Python's path, wherever that
is, and kaggle_environments adds the folder of another game, lux_ai_s3, which has one.
"""
