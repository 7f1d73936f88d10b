from __future__ import annotations

from shrinkray_gpu.passes.host import compilations
from shrinkray_gpu.passes.python import expressions, numbers
from tests.passes.offers import offered, results

TABLES = '{"x": "*fp32", "n": "i32"}, {"n": 64}, {(0,): [["a", 16]], (1,): [["a", 16]]}'
KERNEL = "@triton.jit\ndef kernel(x, n):\n    tl.store(x, n)\n"


def compiled(tables: str = TABLES, options: str = ', options={"num_warps": 8, "num_stages": 1}') -> str:
    return f'{KERNEL}triton.compile(ASTSource(kernel, {tables}), target=GPUTarget("cuda", 90, 32){options})\n'


def test_options_go_whole_and_one_by_one() -> None:
    assert offered(compilations.find, compiled(), compiled(options=""))
    assert offered(compilations.find, compiled(), compiled(options=', options={"num_warps": 8}'))
    assert offered(compilations.find, compiled(), compiled(options=', options={"num_stages": 1}'))


def test_so_do_attributes() -> None:
    types, constants = '{"x": "*fp32", "n": "i32"}', '{"n": 64}'
    assert offered(compilations.find, compiled(), compiled(f"{types}, {constants}"))
    assert offered(compilations.find, compiled(), compiled(f'{types}, {constants}, {{(0,): [["a", 16]]}}'))
    for nothing in ("{}", "None"):
        start = compiled(f'{types}, {nothing}, {{(0,): [["a", 16]]}}')
        assert offered(compilations.find, start, compiled(types))
        assert offered(compilations.find, compiled(f"{types}, {nothing}"), compiled(types))


def test_types_constants_and_target_are_for_other_passes_or_for_none() -> None:
    once = compiled('{"x": "*fp32"}, {"n": 64}', "")
    assert results(compilations.find, once) == []
    # Triton finds its compiled kernels by types alone: for another name a lane would say yes.
    assert all("ASTSource(kernel, {'x': '*fp32'}, {'n': 64})" in text for text in results(expressions.find, once))


def test_a_number_of_a_parameter_is_no_size() -> None:
    tables = '{"x": "*fp32"}, {"n": 64}, {(2,): [["a", 16]]}'
    every = results(numbers.find, compiled(tables, ""))
    assert any("{'n': 1}" in text for text in every)
    assert all("{(2,): [['a', 16]]}" in text for text in every)


def test_another_call_of_that_name_is_none() -> None:
    assert results(compilations.find, 're.compile("a", options={"flags": 1})\n') == []
