"""Builders, fakes and generators that several test modules share."""
