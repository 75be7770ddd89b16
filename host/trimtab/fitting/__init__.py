"""Fitting a conversation into its budget: the guarded pipeline."""
