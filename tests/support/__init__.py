"""Builders and stand-ins the tests share."""
