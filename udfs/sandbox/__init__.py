"""Runs programs that nobody has to trust: model-written code and the tests that a data set brings."""
