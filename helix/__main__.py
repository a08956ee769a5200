"""`python -m helix` is the command `helix`."""

import sys

from helix.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
