"""The search in isolation: edits are numbers, the test is a Python function, nothing is rendered or run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.search import Memory, Search, SearchResult, Subset

Test = Callable[[frozenset[str]], "bool | None"]


def numbered(count: int, level: Callable[[int], int] = lambda i: 0) -> list[Edit]:
    return [Edit(f"remove {i}", (), level=level(i)) for i in range(count)]


def names(edits: Iterable[Edit]) -> frozenset[str]:
    return frozenset(edit.what.split()[1] for edit in edits)


@dataclass
class Course:
    """A search that was driven to its end, and what it asked on the way."""

    result: SearchResult
    waves: list[list[frozenset[str]]] = field(default_factory=list)
    bases: list[frozenset[str]] = field(default_factory=list)

    @property
    def tries(self) -> int:
        return sum(map(len, self.waves))


def drive(edits: Sequence[Edit], test: Test, **options: object) -> Course:
    course = Course(SearchResult((), (), ()))
    search = Search(edits, **{"render": frozenset, **options})  # type: ignore[arg-type]
    while wave := search.next():
        course.bases.append(names(wave.base))
        course.waves.append([names(subset) for subset in wave.proposals])
        search.tell([test(names(wave.base + subset)) for subset in wave.proposals])
    course.result = search.result
    return course


def spares(*needed: int) -> Test:
    """Holds as long as none of `needed` is removed."""
    return lambda removed: not removed & {str(i) for i in needed}


def test_takes_all_but_what_is_needed() -> None:
    course = drive(numbered(60), spares(7, 31, 32))
    assert names(course.result.accepted) == {str(i) for i in range(60)} - {"7", "31", "32"}
    assert names(course.result.refused) == {"7", "31", "32"}
    assert course.tries < 40


def test_asks_nothing_without_edits() -> None:
    assert drive([], spares()).waves == []


def test_proposes_a_whole_level_at_once_when_that_is_likely() -> None:
    course = drive(numbered(30), spares(), prior=lambda edit: 0.01)
    assert course.waves == [[{str(i) for i in range(30)}]]


def test_fills_the_wave_when_nothing_is_known() -> None:
    course = drive(numbered(30), spares(), width=8)
    assert len(course.waves[0]) >= 4
    assert len(course.waves[1]) == 1, "then the union of all that held"
    assert len(course.waves) == 2


def test_subsets_are_contiguous_in_text_order() -> None:
    course = drive(numbered(24), spares(5), width=4)
    for subset in course.waves[0]:
        numbers = sorted(map(int, subset))
        assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_heavy_edits_go_by_themselves_first() -> None:
    edits = [Edit("remove 0", (), weight=500), *numbered(20)[1:]]
    course = drive(edits, spares(3), width=1, prior=lambda edit: 0.5)
    assert course.waves[0] == [{"0"}]


def test_dear_successes_mean_larger_subsets_and_fewer_of_them() -> None:
    def successes(course: Course) -> int:
        return sum(not removed & needed for wave, base in zip(course.waves, course.bases) for removed in wave)

    needed = {str(i) for i in range(3, 300, 40)}
    cheap = drive(numbered(300), lambda removed: not removed & needed, width=16)
    dear = drive(numbered(300), lambda removed: not removed & needed, width=16, eager=20)
    assert names(dear.result.accepted) == names(cheap.result.accepted)
    assert max(map(len, dear.waves[0])) > max(map(len, cheap.waves[0]))
    assert successes(dear) < 0.75 * successes(cheap)


def test_two_edits_that_cannot_go_together_lose_one() -> None:
    course = drive(numbered(10), lambda removed: not {"2", "8"} <= removed)
    assert len(course.result.accepted) == 9


def test_levels_go_in_order_and_what_vanished_is_not_asked() -> None:
    edits = [Edit("remove outer", (), level=0), Edit("remove inner", (), level=1), Edit("remove other", (), level=1)]

    def render(subset: Sequence[Edit]) -> frozenset[str]:
        removed = names(subset)
        return removed - {"inner"} if "outer" in removed else removed

    serial = drive(edits, lambda removed: True, render=render, width=1)
    assert serial.waves == [[{"outer"}], [{"other"}]]
    parallel = drive(edits, lambda removed: True, render=render, width=8)
    assert parallel.waves[0] == [{"outer"}, {"other"}], "idle lanes take deeper edits, but none inside what is tried"


def test_an_edit_without_effect_is_not_asked() -> None:
    course = drive(numbered(3), lambda removed: True, render=lambda subset: names(subset) - {"1"}, width=4)
    assert all(subset != {"1"} for wave in course.waves for subset in wave)


def first_of_each(edits: Sequence[Edit]) -> list[Edit]:
    """Edits named `remove SLOT-CHOICE` are alternatives if they share the slot."""
    kept: dict[str, Edit] = {}
    for edit in edits:
        kept.setdefault(edit.what.split("-")[0], edit)
    return list(kept.values())


def test_alternatives_are_tried_in_order_of_preference_and_never_together() -> None:
    edits = [Edit(f"remove {slot}-{choice}", ()) for slot in "abcd" for choice in (0, 1, 2)]
    allowed = {"a-0", "a-1", "b-1", "b-2", "c-2"}
    for width in (1, 3, 16):
        course = drive(edits, lambda removed: removed <= allowed, effective=first_of_each, width=width)
        assert names(course.result.accepted) == {"a-0", "b-1", "c-2"}
        for subset in (base | subset for base, wave in zip(course.bases, course.waves) for subset in wave):
            assert len({name[0] for name in subset}) == len(subset)


def test_unknown_is_asked_again_and_then_given_up() -> None:
    asked: list[frozenset[str]] = []

    def test(removed: frozenset[str]) -> bool | None:
        asked.append(removed)
        return None if "4" in removed else True

    course = drive(numbered(8), test)
    assert names(course.result.accepted) == {str(i) for i in range(8)} - {"4"}
    assert names(course.result.undecided) == {"4"}
    assert not course.result.refused, "unknown is never a no"
    assert sum("4" in removed for removed in asked) <= 8


def test_unknown_once_is_no_loss() -> None:
    sick = iter([None] * 5)
    course = drive(numbered(12), lambda removed: next(sick, not removed & {"3"}))
    assert names(course.result.accepted) == {str(i) for i in range(12)} - {"3"}


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(0, 40),
    clauses=st.lists(st.frozensets(st.integers(0, 39), min_size=1, max_size=3), max_size=6),
    fog=st.integers(0, 5),
    width=st.integers(1, 32),
    eager=st.sampled_from([1.0, 4.0, 20.0]),
    levels=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_any_course(
    count: int, clauses: list[frozenset[int]], fog: int, width: int, eager: float, levels: int, seed: int
) -> None:
    """Whatever the test (no clause may be removed as a whole; some answers unknown), the search ends, the result held,
    waves are disjoint and no wider than allowed, no subset is refused twice, and no single edit could be added."""
    fogged = random.Random(seed)
    held: set[frozenset[str]] = {frozenset()}
    denied: set[frozenset[str]] = set()
    needed = [frozenset(map(str, clause)) for clause in clauses]

    def test(removed: frozenset[str]) -> bool | None:
        assert removed not in denied
        if fogged.randrange(20) < fog:
            return None
        holds = not any(clause <= removed for clause in needed)
        (held if holds else denied).add(removed)
        return holds

    edits = numbered(count, level=lambda i: i % levels)
    course = drive(edits, test, width=width, eager=eager, rng=random.Random(seed))
    assert names(course.result.accepted) in held
    for base, wave in zip(course.bases, course.waves):
        assert base in held
        assert 0 < len(wave) <= width
        assert len(frozenset().union(*wave)) == sum(map(len, wave))
        assert not base & frozenset().union(*wave)
    settled = course.result.accepted + course.result.refused + course.result.undecided
    assert len(settled) == len(set(settled)) == count
    for edit in course.result.refused:  # the test is monotone, so a refused edit stays needed
        assert any(clause <= names((*course.result.accepted, edit)) for clause in needed)


@given(st.integers(0, 2**30))
def test_the_same_seed_gives_the_same_course(seed: int) -> None:
    first, second = (drive(numbered(50), spares(3, 20, 21), rng=random.Random(seed)) for _ in range(2))
    assert first.waves == second.waves


def test_seeds_shake_the_course() -> None:
    courses = {str(drive(numbered(50), spares(3, 20, 21), width=2, rng=random.Random(s)).waves) for s in range(10)}
    assert len(courses) > 1


def found(accepted: int, refused: int, kind: str = "remove statement") -> SearchResult:
    def some(count: int) -> Subset:
        return tuple(Edit(f"{kind} {i}", ()) for i in range(count))

    return SearchResult(some(accepted), some(refused), ())


def test_memory_starts_neutral_and_learns_by_kind() -> None:
    memory = Memory()
    statement, loop = Edit("remove statement 7", ()), Edit("unroll loop", ())
    assert memory.prior("statements", statement) == 0.125
    memory.learn("statements", found(accepted=40, refused=0))
    assert memory.prior("statements", statement) < 0.05
    assert memory.prior("statements", loop) == memory.prior("loops", statement) == 0.125


def test_memory_fades() -> None:
    memory = Memory()
    statement = Edit("remove statement 7", ())
    memory.learn("statements", found(accepted=40, refused=0))
    for _ in range(3):
        memory.learn("statements", found(accepted=0, refused=20))
    assert memory.prior("statements", statement) > 0.5
