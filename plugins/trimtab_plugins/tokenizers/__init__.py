"""Vocabularies, each a driver of the group `trimtab.tokenizers`."""
