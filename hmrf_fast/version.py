"""The version, and the only place with it."""

__version__ = "0.1.0"
