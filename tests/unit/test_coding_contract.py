"""Contracts of coding tasks: what is refused at load, how tests are taken apart, rows of data sets."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.code import BrokenTestsError, CodeContract, NoTestsError
from udfs.coding.adapters import entry_point_of, from_calls, from_humaneval, from_mbpp, from_stdin
from udfs.coding.grading import count_tests, stored
from udfs.coding.units import units_of

CALL = {"kind": "call", "entry_point": "f", "inputs": ["[1]"], "outputs": ["2"]}


def load(**tests):
    return CodeContract.of({"tests": tests})


@pytest.mark.parametrize(
    "tests",
    [
        {"kind": "assert", "code": ""},
        {"kind": "assert"},
        {"kind": "assert", "code": "x = 1"},
        {"kind": "call", "entry_point": "f"},
        {"kind": "stdin"},
        # asserts of constants alone, and asserts that nothing ever runs
        {"kind": "assert", "code": "def check(candidate):\n    assert True\n", "entry_point": "f"},
        {"kind": "assert", "code": "def never():\n    assert f(1) == 2\n"},
    ],
)
def test_zero_tests_are_refused_by_name(tests):
    with pytest.raises(NoTestsError, match="no test at all"):
        count_tests(load(**tests).tests)


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ({"kind": "assert", "code": "assert f("}, "not Python"),
        ({"kind": "assert", "code": "assert f(1)", "setup": "def"}, "setup is not Python"),
        ({"kind": "assert", "code": "assert f(1)", "inputs": ["1"]}, "belong to kinds"),
        ({"kind": "assert", "code": "def check(c):\n    assert c(1)\n"}, "entry_point must say"),
        ({"kind": "assert", "code": "assert f(0x1" + "0" * 9000 + ")"}, "cannot be written down"),
        ({"kind": "assert", "code": "assert f(1)", "public": [1]}, "public names test 1, there are 1"),
        ({**CALL, "public": [1]}, "public names test 1, there are 1"),
        ({**CALL, "public": [0, 0]}, "distinct"),
        ({**CALL, "outputs": ["2", "3"]}, "1 inputs but 2 outputs"),
        ({**CALL, "entry_point": None}, "entry_point is missing"),
        ({**CALL, "entry_point": "f()"}, "no name of Python"),
        ({**CALL, "code": "assert f(1)"}, "code belongs to"),
        ({**CALL, "inputs": ["1"]}, "not a list of arguments"),
        ({**CALL, "inputs": ["[1"]}, "test 0 is no json"),
        ({**CALL, "inputs": ["[" * 300 + "]" * 300]}, "nested deeper than"),
        ({**CALL, "inputs": ["[" * 90_000 + "]" * 90_000]}, "test 0 is no json"),
        ({**CALL, "outputs": ["1" * 5000]}, "test 0 is no json"),
        ({**CALL, "inputs": ["[open('x')]"], "encoding": "literal"}, "test 0 is no literal"),
    ],
)
def test_what_does_not_belong_together_is_refused(tests, says):
    with pytest.raises(BrokenTestsError, match=says.replace("(", r"\(").replace(")", r"\)")):
        count_tests(load(**tests).tests)


@pytest.mark.parametrize(
    "fields",
    [
        {"tests": CALL, "more": 1},
        {"tests": {**CALL, "kind": "pytest"}},
        {"tests": {**CALL, "inputs": [[1]]}},
        {"tests": CALL, "limits": {"wall": 0}},
    ],
)
def test_what_is_no_contract(fields):
    with pytest.raises(ValidationError):
        CodeContract.of(fields)


def test_one_spelling():
    contract = load(**CALL)
    text = contract.canonical()
    assert CodeContract.load(text) == contract
    assert CodeContract.load(text).canonical() == text
    assert text.startswith('{"limits":{"cpu":10.0,')
    assert hash(CodeContract.load(text)) == hash(contract)


def units(code, **more):
    return units_of(load(kind="assert", code=code, **more).tests)


def test_each_assert_is_a_test_with_what_prepares_it():
    made = units("x = 1\nassert f(x) == 2\nassert True\ny = g(x)\nfor i in range(3):\n    assert f(i) == y\n")
    assert len(made.sources) == 2
    assert made.sources[0] == "x = 1\nassert __verilake_equal__(f(x), 2)"
    assert made.sources[1].startswith("assert True\ny = g(x)\nfor i")
    assert made.wanted == ("f", "g")


def test_the_body_of_check_is_taken_apart_unless_its_meaning_would_change():
    code = "import math\nMETA = 1\ndef check(candidate):\n    a = math.pi\n    assert candidate(1) == 1, 'first'\n    assert 2 == candidate(a)\n{}check(f)\n"
    made = units(code.format(""), entry_point="f")
    assert len(made.sources) == 2
    assert made.sources[0].splitlines()[:3] == ["import math", "META = 1", "a = math.pi"]
    assert made.sources[1] == "assert __verilake_equal__(candidate(a), 2)"
    assert (made.alias, made.wanted) == ("candidate", ("f",))
    whole = units(code.format("    return\n"), entry_point="f")
    assert len(whole.sources) == 1
    assert whole.sources[0].endswith("check(candidate)")


@pytest.mark.parametrize(
    ("code", "entry", "wanted", "shadows"),
    [
        ("assert f(g(1)) == 2", "f", ("f", "g"), ()),
        ("assert sum(1, 2) == 3", "sum", ("sum",), ("sum",)),  # else the tests would ask nobody
        ("assert sum(f(2)) == 3", "f", ("f",), ()),
        ("import math\nassert math.isclose(f(1), 2)", "f", ("f",), ()),
        ("assert Solution().f(1) == 2", "Solution", ("Solution",), ()),
    ],
)
def test_the_entry_point_is_found_in_the_asserts(code, entry, wanted, shadows):
    made = units(code)
    assert (made.entry, made.wanted, made.shadows) == (entry, wanted, shadows)


def test_names_of_modules_are_no_names_of_the_candidate():
    made = units("assert f((1, 2)) == sys.getsizeof((1, 2)) + math.floor(1.5)")
    assert (made.wanted, made.modules) == (("f",), ("math", "sys"))
    # what is called is no module, though the standard library has one of this name
    assert units("assert f(code(1)) == 2").wanted == ("code", "f")


@pytest.mark.parametrize(
    ("asserts", "reference", "name"),
    [
        (["assert f(1) == 2"], "", "f"),
        (["assert set(f(g(1))) == {2}"], "", "f"),
        (["assert set(f(g(1))) == {2}"], "def g(x): pass\n", "g"),
        (["assert sum(1, 2) == 3"], "def sum(a, b): return a + b\n", "sum"),
        (["assert sum(1, 2) == 3"], "", None),
        (["assert g([P(1, 2)]) == 3"], "class P: pass\ndef g(x): pass\n", "g"),
        (["assert math.isclose(area(2), 4.0)"], "", "area"),
        (["not python"], "", None),
    ],
)
def test_which_function_the_asserts_are_about(asserts, reference, name):
    assert entry_point_of(asserts, reference) == name


def test_rows_of_data_sets():
    row = {"prompt": "def f(x):\n", "test": "def check(candidate):\n    assert candidate(1) == 2\n", "entry_point": "f"}
    made = from_humaneval(row)
    assert (made.tests.entry_point, made.tests.public, made.prompt) == ("f", (), "def f(x):\n")
    lists = {
        "test_list": ["assert f(1) == 2", "assert f(2) == 3"],
        "challenge_test_list": ["assert f(9) == 10"],
        "test_setup_code": "A = 1\r\n",
        "code": "def f(x): ...",
    }
    mbpp = from_mbpp({"text": "Add one.", **lists})
    assert (count_tests(mbpp.tests), mbpp.tests.public, mbpp.tests.setup, mbpp.tests.entry_point) == (3, (0,), "A = 1", "f")
    assert mbpp.prompt == "Add one.\nassert f(1) == 2"
    sanitised = from_mbpp({"prompt": "Add one.", "test_imports": ["import math"], "test_list": ["assert f(1) == 2"]}, public=3)
    assert (sanitised.tests.setup, sanitised.tests.public) == ("import math", (0,))
    with pytest.raises(BrokenTestsError, match="'test' is missing"):
        from_humaneval({"prompt": "x", "entry_point": "f"})
    with pytest.raises(BrokenTestsError, match="no list of texts"):
        from_mbpp({"text": "x", "test_list": "assert f(1)"})


def test_values_of_calls_are_kept_as_they_are():
    made = from_calls("f", [[(1, 2), {3}], [b"x", 1j]], [[1, (2,)], {"a": None}], wall=2.0)
    assert stored(made.tests) == [([(1, 2), {3}], [1, (2,)]), ([b"x", 1j], {"a": None})]
    assert (made.limits.wall, made.tests.tuple_as_list) == (2.0, False)
    assert from_calls("f", [[[1]]], [2], json_values=True).tests.tuple_as_list
    with pytest.raises(BrokenTestsError, match="is no Python literal"):
        from_calls("f", [[object()]], [1])
    assert stored(from_stdin(["1\n"], ["2\n"]).tests) == [("1\n", "2\n")]
