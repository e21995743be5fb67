"""The program that every hook starts: ``PYTHON -I -S client.py``, the event on stdin, the answer on stdout.

    client.py                     an agent's hook
    client.py git HOOK [ARGS…]    a Git hook: no output

A script is compiled at each start and a module is not, so the work is in ``talk``.
"""

import sys

if __name__ == "__main__":  # -I leaves our folder out
    sys.path.insert(0, __file__.replace("\\", "/").rsplit("/", 2)[0])

from recall_git.talk import VERSION, bootstrap, leave, main, runtime_folder, socket_name

__all__ = ["VERSION", "bootstrap", "main", "runtime_folder", "socket_name"]

if __name__ == "__main__":
    main()
    leave()
