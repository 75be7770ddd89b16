"""`python -m trimtab.cli` is the same as `trimtab`."""

import sys

from trimtab.cli import main

sys.exit(main())
