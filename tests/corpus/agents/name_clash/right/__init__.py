"""A package whose __init__ re-exports."""
from .inner import STEP as STEP
