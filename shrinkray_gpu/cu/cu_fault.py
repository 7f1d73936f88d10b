"""What must persist of a CUDA program's fault, in what nvcc says or in how the program ends.

The same words are not enough. A message must point at the same construct, and no error may be new. Where a kernel was
launched, one must be: by the text of `main` if nothing can be run, else by the runtime that records launches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shrinkray_gpu.cu.constant_extents import beyond
from shrinkray_gpu.cu.device_sight import DeviceSight
from shrinkray_gpu.cu.made_up import Numbers, counted_in_elements, numbers_of
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, HostedLaunch
from shrinkray_gpu.cu.nvcc_words import NvccMessage, SaidMessage, loose
from shrinkray_gpu.cu.options import AskedWords
from shrinkray_gpu.device import error_table
from shrinkray_gpu.oracle.build_failure import UNSOUND
from shrinkray_gpu.oracle.driver_error import OUTSIDE
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.reduction.native.native_tree import Node, Tree, parse
from shrinkray_gpu.runner.launch_recorder import Room
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.source.cuda import declared_names, is_inside, items_of, words

_KERNEL = re.compile(r"\A[^{;]*\b__global__\b")
_NOTHING = re.compile(r"(?:dim3|uint3)?\s*[({]?\s*(?:\d+\s*,\s*){0,2}0[uUlL]*\s*(?:,.*)?[)}]?", re.S)
"""No block, or no thread: 0, or a dim3 with a 0 among its numbers."""
_NO_CODE = ("comment", "string_literal", "raw_string_literal", "char_literal")


@dataclass(frozen=True)
class CuFault:
    """A fault of the original, as it was built up to `stage`."""

    stage: str
    failed: bool
    """Whether nvcc failed."""
    wanted: frozenset[NvccMessage] = frozenset()
    """What nvcc said of it; empty where a run shows it."""
    errors: frozenset[NvccMessage] = frozenset()
    unsound: frozenset[str] = frozenset()
    """Numbers of the warnings that the original has, of those that a candidate may not add."""
    kernels: frozenset[str] = frozenset()
    """Those of the functions that the messages, or compute-sanitizer, tell of which `main` launches."""
    idle: frozenset[str] | None = None
    """Where a message tells of no function: the kernels that `main` launches not, to which a candidate adds none."""
    launches: bool = False
    """Whether `main` leads to a launch."""
    runs: bool = False
    """Whether the program is built and run for its launches, though nvcc shows the fault."""
    ending: str = ""
    """How a run ends that shows it; empty where nvcc does."""
    last_words: str = ""
    """What it says last to stderr, but for numbers; where compute-sanitizer saw the fault, the driver's words in it."""
    refused: frozenset[HostedLaunch] = frozenset()
    """Launches that the runtime of our own refuses."""
    asked: tuple[AskedWords, ...] = ()
    beyond: frozenset[str] = frozenset()
    """Accesses that leave an array by the original's own numbers."""
    sight: DeviceSight | None = None
    """What compute-sanitizer saw first of a kernel."""
    room: Room | None = None
    """The control after which it sees nothing."""
    unseen: str = ""
    """Of a fault on a device: why nothing was seen."""
    counted: frozenset[str] = frozenset()
    """Kinds of calls whose sizes are of so many elements: without `sizeof` one is too small for another reason."""
    on_cpu: bool = False
    """Whether no GPU ran it: the access was seen where the CPU runs the kernels."""
    numbers: Numbers | None = None
    """Of a fault on a device: what stands as a number in the original, where a program could compute it."""

    def __str__(self) -> str:
        if self.wanted:
            return "; ".join(sorted(map(str, self.wanted)))
        refused = ", ".join(f"the launch of {each.kernel} is refused (error {each.error})" for each in self.refused)
        return "; ".join(filter(None, [f"the program {self.ending}", refused, self.last_words]))

    @property
    def _alike(self) -> tuple[str, ...]:
        """The driver's words for the access that was seen, whatever is said around them."""
        outside = tuple(error_table.by_code(code).text for code in OUTSIDE)
        return outside if self.last_words in outside else (self.last_words,)

    @property
    def witness(self) -> str:
        """Who saw the access."""
        return "the CPU, in the place of a GPU," if self.on_cpu else "compute-sanitizer"

    def told_by(self, outcome: CuOutcome) -> CuFault:
        """The same in the driver's words for it in this run."""
        if self.sight is None or outcome.run is None:
            return self
        return replace(self, last_words=_driver_words(last_words(outcome.run)))

    def verdict(self, text: str, outcome: CuOutcome) -> Verdict:
        """Of a try at the fault's stage."""
        if outcome.trouble:
            return unclear(outcome.trouble)
        if outcome.failed != self.failed:
            error = next((str(each.message) for each in outcome.messages if each.message.level == "error"), "")
            return lacks(f"nvcc {'fails: ' + error if outcome.failed else 'does not fail'}")
        said = {each.message for each in outcome.messages}
        if new := errors_of(outcome) - self.errors:
            return lacks(f"another error: {next(iter(new))}")
        if missing := self.wanted - said:
            return lacks(f"nothing says {next(iter(missing))}")
        numbers = {each.number for each in outcome.messages}
        if added := sorted((UNSOUND.keys() & numbers) - self.unsound):
            return lacks(f"the source {UNSOUND[added[0]]}")
        if self.launches:
            tree = parse(text)
            if _launches_nothing(tree):
                return lacks("main launches no block, or no thread")
            launched = launched_by_main(tree)
            if not launched or not self.kernels <= launched:
                return lacks(f"main launches no {next(iter(self.kernels - launched), 'kernel')}")
            if self.idle is not None and (more := kernels_of(tree) - launched - self.idle):
                return lacks(f"main launches {next(iter(more))} no more")
        return self._run_verdict(outcome) if self.ending else shows(str(self))

    def launch_verdict(self, outcome: CuOutcome) -> Verdict:
        """Of a run of a program that nvcc only warns of: whether it launches what the original did."""
        if outcome.trouble:
            return unclear(outcome.trouble)
        made = {each.kernel for each in outcome.launches if not each.error}
        if outcome.failed or not made or not self.kernels <= made:
            return lacks(f"no {next(iter(self.kernels - made), 'kernel')} is launched")
        return shows(str(self))

    def objection(self, text: str) -> str:
        """Why the text need not be built: it makes up what the original computes, brings a second defect, or launches
        the kernel no more that an access was seen in. Empty where it must be built."""
        tree = parse(text)
        if self.numbers is not None:
            if missing := self.kernels - launched_by_main(tree):
                return f"main launches no {next(iter(missing))}"
            if added := numbers_of(tree).added(self.numbers):
                return added
            for kind in sorted(self.counted - counted_in_elements(tree)):
                return f"{kind} is no longer of so many elements"
        return next(iter(sorted(beyond(tree) - self.beyond)), "")

    def look(self, outcome: CuOutcome) -> Callable[[DeviceSight], Sequence[Room]] | None:
        """Whether a run ends as it should, so that it is worth a look by compute-sanitizer; and the control."""
        if self.sight is None or not self._run_verdict(outcome, sighted=False).faults:
            return None
        return lambda sight: (self.room,) if self.room is not None and sight == self.sight else ()

    def _run_verdict(self, outcome: CuOutcome, *, sighted: bool = True) -> Verdict:
        run = outcome.run
        if run is None or ending(run) != self.ending:
            return lacks(f"the program {ending(run) if run else 'was not run'}")
        said = last_words(run)
        alike = self.sight is not None and any(each in said for each in self._alike)
        if self.last_words and said != self.last_words and not alike:
            return lacks(f"it says {said or 'nothing'}")
        if missing := [each.spec for each in self.asked if not each.pattern.search(run.stdout + run.stderr)]:
            return lacks(f"it does not say {missing[0]}")
        refused = {each for each in outcome.launches if each.error}
        if self.refused and not refused or refused - self.refused:
            return lacks("other launches are refused")
        if sighted and self.sight is not None:
            if outcome.blind:
                return unclear(outcome.blind)
            if drift := self.sight.drift(outcome.sight) or outcome.lacking:
                return lacks(drift)
            if self.room is not None and outcome.room != self.room:
                return lacks(f"with {self.room} compute-sanitizer still sees an access that is wrong")
        return shows(str(self))


def errors_of(outcome: CuOutcome) -> frozenset[NvccMessage]:
    return frozenset(each.message for each in outcome.messages if each.message.level == "error")


def build_fault(text: str, outcome: CuOutcome, stage: str, asked: Sequence[AskedWords]) -> CuFault | None:
    """The fault that nvcc tells of: by the words asked for, else the first error. None where it says nothing."""
    said = sorted(outcome.messages, key=lambda each: each.message.level != "error")
    if asked:
        chosen = [next((each for each in said if words.pattern.search(each.raw)), None) for words in asked]
        if None in chosen:
            return None
        found = [each for each in chosen if each is not None]
    else:
        found = said[:1] if outcome.failed else []
        if not found and outcome.failed:
            line = next((line for line in outcome.said.splitlines() if line.strip()), "it says nothing")
            found = [SaidMessage(NvccMessage("nvcc", "error", loose(line)), line)]
        if not found:
            return None
    tree = parse(text)
    launched = launched_by_main(tree)
    return CuFault(
        stage,
        outcome.failed,
        frozenset(each.message for each in found),
        errors_of(outcome),
        frozenset(UNSOUND.keys() & {each.number for each in outcome.messages}),
        frozenset(each.kernel for each in found) & launched,
        kernels_of(tree) - launched if not all(each.kernel for each in found) else None,
        bool(launched),
        asked=tuple(asked),
        beyond=beyond(tree),
    )


def run_fault(text: str, outcome: CuOutcome, asked: Sequence[AskedWords], *, hosted: bool) -> CuFault | None:
    """The fault that a run shows; None where it shows none, or not the words. `hosted`: nothing was launched, so that
    only a launch that is refused tells anything."""
    run = outcome.run
    if run is None or run.trouble:
        return None
    refused = frozenset(each for each in outcome.launches if each.error)
    if ending(run) == "ends well" or (hosted and not refused) or any(each.builds for each in asked):
        return None
    if not all(each.pattern.search(run.stdout + run.stderr) for each in asked):
        return None
    tree = parse(text)
    launched = launched_by_main(tree)
    return CuFault(
        "program",
        False,
        kernels=frozenset([outcome.sight.kernel]) & launched if outcome.sight else frozenset(),
        unsound=frozenset(UNSOUND.keys() & {each.number for each in outcome.messages}),
        launches=bool(launched),
        ending=ending(run),
        last_words=_driver_words(last_words(run)) if outcome.sight else last_words(run),
        refused=refused,
        asked=tuple(asked),
        sight=outcome.sight,
        room=outcome.room,
        unseen="" if hosted or outcome.sight else outcome.blind or _no_record(outcome),
        counted=counted_in_elements(tree) if outcome.sight is not None else frozenset(),
        numbers=None if hosted else numbers_of(tree),
        beyond=beyond(tree),
    )


def ending(run: Run) -> str:
    """`ends well`, `ends with 1`, `ends by signal 11`, `does not end`."""
    if run.timed_out:
        return "does not end"
    if run.signal is not None:
        return f"ends by signal {run.signal}"
    return f"ends with {run.exit}" if run.exit else "ends well"


def first_look(outcome: CuOutcome) -> Callable[[DeviceSight], Sequence[Room]] | None:
    """At the original: with each control, where the program ran to an end that is worth a look."""
    badly = outcome.run is not None and ending(outcome.run) not in ("ends well", "does not end")
    return DeviceSight.rooms if badly else None


def last_words(run: Run) -> str:
    line = next((line for line in reversed(run.stderr.splitlines()) if line.strip()), "")
    return loose(line)


def _no_record(outcome: CuOutcome) -> str:
    return f"compute-sanitizer sees no access that is wrong{f': {outcome.summary}' if outcome.summary else ''}"


def _driver_words(said: str) -> str:
    """The words of the error that ended the context, else all that was said."""
    known = (error_table.by_code(code) for code in sorted(error_table.CODES))
    return next((each.text for each in known if each.sticky and each.text in said), said)


def launched_by_main(tree: Tree) -> frozenset[str]:
    """The kernels that `main` leads to a launch of, by the names that it mentions."""
    items = list(items_of(tree.root))
    named = {item: {tree.text_of(name) for name in declared_names(item)} for item in items}
    mentioned = {item: set(words(_code_of(tree, item))) for item in items}
    todo = [item for item in items if "main" in named[item]]
    reached: set[Node] = set()
    while todo:
        item = todo.pop()
        if item not in reached:
            reached.add(item)
            todo += [each for each in items if each not in reached and named[each] & mentioned[item]]
    launches = [each for each in tree.nodes("kernel_call_syntax") if any(is_inside(each, item) for item in reached)]
    return frozenset(_called(tree, each) for each in launches if each.parent is not None)


def _code_of(tree: Tree, node: Node) -> str:
    """Its text without comments and strings: `printf("run failed")` calls no `run`."""
    if not node.children or node.kind in _NO_CODE:
        return "" if node.kind in _NO_CODE else tree.text_of(node)
    return " ".join(_code_of(tree, each) for each in node.children)


def _launches_nothing(tree: Tree) -> bool:
    """Whether a launch has no block, or blocks of no thread, which no driver makes."""
    launches = tree.nodes("kernel_call_syntax")
    return any(_NOTHING.fullmatch(tree.text_of(each).strip()) for launch in launches for each in launch.members[:2])


def defined_in(tree: Tree) -> frozenset[str]:
    """All names that the text defines outside of functions."""
    return frozenset(tree.text_of(name) for item in items_of(tree.root) for name in declared_names(item))


def kernels_of(tree: Tree) -> frozenset[str]:
    """All that the text defines."""
    items = [item for item in items_of(tree.root) if _KERNEL.search(tree.text_of(item))]
    return frozenset(tree.text_of(name) for item in items for name in declared_names(item))


def _called(tree: Tree, launch: Node) -> str:
    assert launch.parent is not None
    before = tree.text[launch.parent.first : launch.first].strip()
    return before.partition("<")[0].rpartition("::")[2].strip()
