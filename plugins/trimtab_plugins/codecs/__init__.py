"""Wire formats, each a driver of the group `trimtab.codecs`."""
