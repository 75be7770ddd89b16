"""What runs in a worker process: the confinement of itself, then one plugin. Never imported by a plugin's author.

Only the standard library, pluggy and trimtab_sdk are imported here: the process starts without the host's
packages on its path.
"""
