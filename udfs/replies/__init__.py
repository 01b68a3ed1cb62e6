"""Requests to a conversion engine and what its replies hold."""
