"""The board: server, notebook widget, sessions. The documentation is made from packages with this file only."""
