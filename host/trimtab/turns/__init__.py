"""Turns: a user's input, the calls to a provider and the tools in between, until the answer is stored."""
