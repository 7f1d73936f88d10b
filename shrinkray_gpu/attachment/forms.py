"""For whom ISSUE.md is written: what the form for bugs of each project asks, in its order and under its headings.

A project is a row here. What stands below a heading is a list of parts, each a template in `templates/issue/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SHOWN = ("verdict", "error", "repro", "twin", "decides", "duplicates")
"""All that a reader sees before anything is folded, where a form has one field for it."""


@dataclass(frozen=True)
class Form:
    """A project's form for bugs."""

    name: str
    """As in `--for`."""
    project: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    """Headings, and the parts below each."""
    repository: str = ""
    """On GitHub; empty where bugs are reported in a forum."""
    forum: str = ""
    template: str = ""
    """The file of the form, where the project takes no issue without it: only its title can be filled in then."""
    prefix: str = ""
    """Of a title."""
    heading: str = "### {}"
    """How the project's issues show the headings of its form."""
    imports: str = ""
    """What a program holds that is this project's, as a regex."""
    whose: tuple[str, ...] = ()
    """How verdicts begin that lead here, whatever the program holds."""

    @property
    def new(self) -> str:
        """The page on which an issue is filed: title and body are its parameters."""
        return f"https://github.com/{self.repository}/issues/new" if self.repository else f"{self.forum}/new-topic"

    @property
    def search(self) -> str:
        """The project's search, to which the terms are appended."""
        if self.repository:
            return f"https://github.com/{self.repository}/issues?q=is%3Aissue+"
        return f"{self.forum}/search?q="

    def reason(self, text: str, verdict: str) -> str:
        """Why an issue about this repro goes here; empty where nothing says so."""
        if found := self.imports and re.search(self.imports, text, re.MULTILINE):
            return f"the repro has {found.group().strip()!r}"
        return next((f"the verdict is {each}" for each in self.whose if verdict.startswith(each)), "")


TRITON = Form(
    "triton",
    "Triton",
    (("Describe the bug", SHOWN), ("Environment details", ("environment", "details"))),
    repository="triton-lang/triton",
)
HELION = Form(
    "helion",
    "Helion",
    (
        ("Describe the bug", ("verdict", "error")),
        ("To Reproduce", ("repro",)),
        ("Expected behavior", ("expected", "twin", "decides")),
        ("Versions", ("environment",)),
        ("Additional context", ("duplicates", "details")),
    ),
    repository="pytorch/helion",
    heading="**{}**",
    imports=r"^\s*(?:import|from) helion\b",
)
PYTORCH = Form(
    "pytorch",
    "PyTorch",
    (
        ("🐛 Describe the bug", ("verdict", "repro", "twin", "decides", "duplicates")),
        ("Error logs", ("error",)),
        ("Versions", ("environment", "details")),
    ),
    repository="pytorch/pytorch",
    prefix="[inductor] ",
    imports=r"torch\.compile\b|torch\._(?:inductor|dynamo)\b",
)
VLLM = Form(
    "vllm",
    "vLLM",
    (
        ("Your current environment", ("environment",)),
        ("🐛 Describe the bug", ("verdict", "error", "repro", "twin", "decides", "details")),
        ("Before submitting a new issue...", ("duplicates",)),
    ),
    repository="vllm-project/vllm",
    template="400-bug-report.yml",
    prefix="[Bug]: ",
    imports=r"^\s*(?:import|from) vllm\b",
)
NVIDIA = Form(
    "nvidia",
    "NVIDIA",
    (
        ("Describe the bug", ("verdict", "error")),
        ("How to Reproduce", ("repro", "without_triton")),
        ("Expected behavior", ("expected", "twin", "decides")),
        ("Operating System, nvidia-smi output, NVCC version", ("environment",)),
        ("Is this a duplicate?", ("duplicates", "details")),
    ),
    forum="https://forums.developer.nvidia.com",
    prefix="[BUG]: ",
    whose=("ptxas", "driver or hardware"),
)
FORMS: Mapping[str, Form] = {form.name: form for form in (TRITON, PYTORCH, HELION, VLLM, NVIDIA)}
"""As `--for` names them."""
_TURN = (HELION, VLLM, PYTORCH, NVIDIA)
"""A library that calls Triton is asked before Triton."""


def choice(name: str, text: str, verdict: str) -> tuple[Form, str]:
    """The form that was asked for, or else the one that fits the repro's text and the verdict on the original; and that
    in one line."""
    fitting = ((form, why) for form in _TURN if (why := form.reason(text, verdict)))
    form, why = (FORMS[name], "as asked") if name else next(fitting, (TRITON, "no other project is in the repro"))
    others = ", ".join(other for other in FORMS if other != form.name)
    return form, f"ISSUE.md is for {form.project} ({why}); --for chooses another: {others}"
