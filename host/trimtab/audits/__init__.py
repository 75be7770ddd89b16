"""What `trimtab.audit` is made of; import it from there."""
