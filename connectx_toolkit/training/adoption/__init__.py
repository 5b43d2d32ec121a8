"""Agents of models that others have trained."""
