"""Which calls delete, write or spawn. What must not happen to their arguments is told in danger.py."""

from __future__ import annotations

import libcst as cst

from shrinkray_gpu.passes.literals import last_name
from shrinkray_gpu.passes.tree import dotted

_DELETES = {"rmtree", "unlink", "rmdir", "removedirs", "truncate", "move", "rename", "renames", "copytree", "copyfile",
            "copy2", "chmod", "chown", "symlink", "symlink_to", "touch", "makedirs", "mkdir"}
_WRITES = {"open", "write", "writelines", "write_text", "write_bytes", "tofile", "savetxt", "savez", "to_csv", "dump"}
_SPAWNS = {"system", "popen", "Popen", "check_call", "check_output", "execv", "execve", "execvp", "execl", "execlp",
           "fork", "kill", "killpg", "spawn", "spawnv", "posix_spawn", "getoutput"}
_DOTTED = {"os.remove", "os.replace", "shutil.copy", "torch.save", "np.save", "numpy.save", "subprocess.run",
           "subprocess.call"}


def is_hazard(call: cst.Call) -> bool:
    return last_name(call.func) in _DELETES | _WRITES | _SPAWNS or dotted(call.func) in _DOTTED
