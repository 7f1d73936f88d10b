"""Calls that delete, write or spawn: what they are given is never made smaller.

A real accident: a reducer deleted `name = ...` before `rmtree(join(root, name))`, and the call took the whole root.
Values may be pinned to what they are; they may not be *changed*, neither in such a call nor where its names are bound.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m
from libcst.metadata import Assignment

from shrinkray_gpu.passes.kernels import statement_of
from shrinkray_gpu.passes.literals import dotted, last_name
from shrinkray_gpu.reduction.program import Program

_DELETES = {"rmtree", "unlink", "rmdir", "removedirs", "truncate", "move", "rename", "renames", "copytree", "copyfile",
            "copy2", "chmod", "chown", "symlink", "symlink_to", "touch", "makedirs", "mkdir"}
_WRITES = {"open", "write", "writelines", "write_text", "write_bytes", "tofile", "savetxt", "savez", "to_csv", "dump"}
_SPAWNS = {"system", "popen", "Popen", "check_call", "check_output", "execv", "execve", "execvp", "execl", "execlp",
           "fork", "kill", "killpg", "spawn", "spawnv", "posix_spawn", "getoutput"}
_DOTTED = {"os.remove", "os.replace", "shutil.copy", "torch.save", "np.save", "numpy.save", "subprocess.run",
           "subprocess.call"}


def is_hazard(call: cst.Call) -> bool:
    return last_name(call.func) in _DELETES | _WRITES | _SPAWNS or dotted(call.func) in _DOTTED


def untouchable(program: Program) -> frozenset[cst.CSTNode]:
    """Every node inside a hazardous call, and inside the statements that bind the names it reads, and so on."""
    found: set[cst.CSTNode] = set()
    todo: list[cst.CSTNode] = [c for c in m.findall(program.module, m.Call()) if isinstance(c, cst.Call) and is_hazard(c)]
    while todo:
        root = todo.pop()
        if root in found:
            continue
        for node in _within(root):
            found.add(node)
            if isinstance(node, cst.Name):
                scope = program.scopes.get(node)
                for binding in scope[node.value] if scope is not None else ():
                    if isinstance(binding, Assignment):
                        line = statement_of(program, binding.node)
                        if isinstance(line, cst.SimpleStatementLine) and line not in found:
                            todo.append(line)
    return frozenset(found)


def _within(root: cst.CSTNode) -> list[cst.CSTNode]:
    inside, todo = [], [root]
    while todo:
        node = todo.pop()
        inside.append(node)
        todo.extend(node.children)
    return inside
