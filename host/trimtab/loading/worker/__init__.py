"""Confined workers: plugins that are not trusted run in a process of their own."""
