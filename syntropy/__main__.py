"""`python -m syntropy`."""

import sys

from syntropy.cli import main

if __name__ == "__main__":
    sys.exit(main())
