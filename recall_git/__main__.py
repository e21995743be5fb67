"""``python -m recall_git``."""

import sys

from recall_git.cli import main

sys.exit(main())
