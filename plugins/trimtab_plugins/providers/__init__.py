"""Providers that come with Trimtab."""
