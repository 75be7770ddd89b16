"""The drivers that ship with Trimtab: codecs and tokenizers."""
