"""`python -m syntropy`."""

import sys

from syntropy.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
