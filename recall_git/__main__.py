"""``python -m recall_git``: Python puts the current folder, which is anybody's, on its path; we take it off."""

import sys

if __file__.rsplit("/", 2)[0] != sys.path[0]:
    del sys.path[0]

from recall_git.cli import main

sys.exit(main())
