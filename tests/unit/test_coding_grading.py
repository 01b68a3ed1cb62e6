"""Honest programs and honest tests across two sandboxes: what works in one process works here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jobs.bundle import build
from tests.coding_tasks import asserts, contract, run, whats
from udfs.coding.link import _program

#: name -> (program, tests): all of them pass in one process.
HONEST = {
    "prints": ("def f(x):\n    print('so far', x)\n    return x + 1", "assert f(1) == 2"),
    "helpers and imports": ("import math\nfrom collections import Counter\nK = 2\ndef g(x): return math.floor(x) * K\ndef f(x): return g(x)", "assert f(2.5) == 4"),
    "recursion": ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", "assert f(20) == 2432902008176640000\nassert f(200) % 199 == 0"),
    "a generator": ("def f(n):\n    yield from range(n)", "assert list(f(4)) == [0, 1, 2, 3]\nassert sum(f(5000)) == 12497500"),
    "an endless generator": ("def f():\n    n = 0\n    while True:\n        yield n\n        n += 1", "import itertools\ng = f()\nassert next(g) == 0\nassert next(g) == 1\nassert list(itertools.islice(f(), 5)) == [0, 1, 2, 3, 4]"),
    "map, zip and views": ("def f(d):\n    return d.keys()\ndef g(a):\n    return map(str, a)\ndef h(a):\n    return zip(a, a)", "assert sorted(f({2: 1, 1: 1})) == [1, 2]\nassert list(g([1])) == ['1']\nassert dict(h([1])) == {1: 1}\nassert len(f({1: 1})) == 1 and 1 in f({1: 2})"),
    "an argument changed in place": ("def f(a):\n    a.sort()", "x = [3, 1, 2]\nassert f(x) is None\nassert x == [1, 2, 3]"),
    "nested arguments changed in place": ("def f(d, m):\n    d['k'].append(1)\n    m[0][0] = 9\n    d['s'].add(4)\n    return m", "d = {'k': [], 's': {3}}\nm = [[1]]\nrow = m[0]\nassert f(d, m) is m\nassert d == {'k': [1], 's': {3, 4}}\nassert row == [9]"),
    "an argument left alone": ("def f(a):\n    return sorted(a)", "x = [2, 1]\nassert f(x) == [1, 2]\nassert x == [2, 1]"),
    "the argument given back": ("def f(a):\n    return a", "x = [2, 1]\nassert f(x) is x"),
    "a function as argument": ("def f(g, a):\n    return [g(i) for i in a]", "assert f(lambda v: v * 2, [1, 2]) == [2, 4]\nassert f(len, ['a', 'bb']) == [1, 2]\nassert f(str.upper, ['a']) == ['A']"),
    "a function of the test that calls back": ("def f(g, n):\n    return n if n == 0 else g(n - 1) + 1", "def again(n):\n    return f(again, n)\nassert f(again, 5) == 5"),
    "a function as answer": ("def f(n):\n    return lambda x: x + n", "add = f(2)\nassert add(3) == 5\nassert f(1)(1) == 2\nassert callable(f(1))"),
    "a type as argument": ("def f(a, t):\n    return [i for i in a if isinstance(i, t)]", "assert f([1, 'a', 2.0], int) == [1]\nassert f([1, 'a'], (int, str)) == [1, 'a']"),
    "a class that only the program defines": ("class Pair:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\ndef f(pairs):\n    return max(p.b for p in pairs)", "assert f([Pair(1, 2), Pair(3, 4)]) == 4\np = Pair(5, 6)\nassert p.a == 5\np.b = 9\nassert f([p]) == 9"),
    "methods, operators and text of an object": ("class V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o): return V(self.x + o.x)\n    def __len__(self): return self.x\n    def __getitem__(self, i): return i * self.x\n    def __str__(self): return f'V({self.x})'\n    def double(self): return self.x * 2\n    @classmethod\n    def two(cls): return cls(2)", "v = V(1) + V(2)\nassert v.double() == 6\nassert str(v) == 'V(3)'\nassert len(v) == 3\nassert v[2] == 6\nassert V.two().x == 2\nassert [i for i in [v]][0] is v"),
    "a class with state, as LeetCode has it": ("class Solution:\n    def __init__(self):\n        self.n = 0\n    def f(self, x):\n        self.n += x\n        return self.n", "s = Solution()\nassert s.f(2) == 2\nassert s.f(3) == 5\nassert Solution().f(1) == 1"),
    "objects of a class that the tests define": ("def f(node):\n    n = 0\n    while node:\n        n += node.value\n        node = node.next\n    return n", "class Node:\n    def __init__(self, value, next=None):\n        self.value, self.next = value, next\nassert f(Node(1, Node(2))) == 3\nassert f(None) == 0"),
    "an exception by its class": ("def f(x):\n    if x < 0:\n        raise ValueError('negative')\n    return [][x]", "def kind(x):\n    try:\n        f(x)\n    except ValueError as e:\n        return str(e)\n    except IndexError:\n        return 'index'\nassert kind(-1) == 'negative'\nassert kind(1) == 'index'"),
    "an exception of its own": ("class Bad(KeyError):\n    pass\ndef f(x):\n    raise Bad(x)", "def kind():\n    try:\n        f(1)\n    except Bad:\n        return 'bad'\ndef base():\n    try:\n        f(1)\n    except KeyError:\n        return 'key'\nassert kind() == 'bad'\nassert base() == 'key'"),
    "values of the standard library": ("import re\nfrom collections import Counter, defaultdict, OrderedDict\nfrom fractions import Fraction\ndef f(s):\n    return Counter(s)\ndef g(s):\n    d = defaultdict(int)\n    d[s] += 1\n    return d\ndef h(a, b):\n    return Fraction(a, b)\ndef m(s):\n    return re.match('(a)(b)?', s)", "assert f('aab') == {'a': 2, 'b': 1}\nassert f('aab').most_common(1) == [('a', 2)]\nassert g('k') == {'k': 1}\nassert h(1, 3) * 3 == 1\nassert m('ab').group(2) == 'b'\nassert m('ab') and m('x') is None\nassert m('ab').span() == (0, 2)"),
    "keywords and defaults": ("def f(a, *args, k=1, **kw):\n    return (a, args, k, kw)", "assert f(1, 2, k=3, z=4) == (1, (2,), 3, {'z': 4})\nassert f(*[1]) == (1, (), 1, {})"),
    "modules that only the program imports": ("import sys\ndef f(t):\n    return sys.getsizeof(t)", "assert f((1, 2)) == sys.getsizeof((1, 2))"),
    "a name of a builtin": ("def sum(a, b):\n    return a + b", "assert sum(1, 2) == 3"),
    "a name of a builtin that the contract does not name": ("def min(a, b):\n    return a - b", "assert min(1, 2) == -1"),
    "a constant": ("LIMIT = 10\ndef f(x):\n    return x < LIMIT", "assert f(LIMIT - 1) and not f(LIMIT)"),
    "dataclasses": ("from dataclasses import dataclass\nfrom typing import List, Optional\n@dataclass\nclass P:\n    x: int\n    y: Optional[List[int]] = None\ndef f(p: P) -> int:\n    return p.x", "assert f(P(3)) == 3"),
    "a main block": ("def f(x):\n    return x\nif __name__ == '__main__':\n    input('never here')", "assert f(1) == 1"),
    "odd numbers": ("def f(x):\n    return x", "assert f(float('inf')) == float('inf')\nassert f(float('nan')) != f(float('nan'))\nassert f(10 ** 5000) == 10 ** 5000\nassert str(f(-0.0)) == '-0.0'\nassert f(1j) == 1j"),
    "texts of any kind": ("def f(s):\n    return s[::-1]", "assert f('\\ud800é\\x00') == '\\x00é\\ud800'\nassert f(b'\\x00\\xff') == b'\\xff\\x00'"),
    "a large answer": ("def f(n):\n    return list(range(n))", "assert f(50000)[-1] == 49999"),
    "one for true": ("def f(x):\n    return 1", "assert f(1) == True"),
    "a test with a message and an approximation": ("def f(x):\n    return x / 3", "import math\nassert abs(f(1) - 0.3333) < 1e-3, 'near'\nassert math.isclose(f(3), 1.0, rel_tol=1e-9)"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_pass(name):
    code, tests = HONEST[name]
    entry = "sum" if "sum(" in tests and "def sum" in code else None
    got = run(asserts(tests, entry_point=entry), code)
    assert [(r.what, r.detail) for r in got.results if not r.passed] == []
    assert got.results
    assert (got.broken, got.flags) == (None, ())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x):\n    return x + 1", ["passed", "passed", "passed"]),
        ("def f(x):\n    return x + 1 if x != 2 else 0", ["passed", "wrong", "passed"]),
        ("def f(x):\n    return [][x] if x == 2 else x + 1", ["passed", "raised", "passed"]),
        # each later test gets a process of its own after a death
        ("import os\ndef f(x):\n    return os._exit(0) if x == 2 else x + 1", ["passed", "died", "passed"]),
        ("import os\ndef f(x):\n    os.kill(os.getpid(), 9)", ["died", "died", "died"]),
        ("def f(x):\n    raise SystemExit(0)", ["raised", "raised", "raised"]),
        ("raise RuntimeError('at load')", ["not_loaded", "not_loaded", "not_loaded"]),
        ("def f(x):\n    return None", ["wrong", "wrong", "wrong"]),
    ],
)
@pytest.mark.parametrize("kind", ["assert", "check", "call"])
def test_every_test_has_one_result(kind, code, expected):
    if "RuntimeError" in code:
        code += "\nf = None"
    pairs = [(1, 2), (2, 3), (3, 4)]
    task = {
        "assert": asserts("\n".join(f"assert f({a}) == {b}" for a, b in pairs), entry_point="f"),
        "check": asserts("def check(candidate):\n" + "".join(f"    assert candidate({a}) == {b}\n" for a, b in pairs), entry_point="f"),
        "call": contract(
            {"kind": "call", "entry_point": "f", "inputs": [f"[{a}]" for a, _ in pairs], "outputs": [str(b) for _, b in pairs]}
        ),
    }[kind]
    assert whats(task, code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(a):\n    return a[0] + 1", ["passed", "passed"]),
        ("def f(a):\n    return True", ["wrong", "wrong"]),
        ("def f(a):\n    return float(a[0] + 1)", ["wrong", "wrong"]),
        ("def f(a):\n    return iter([1])", ["not_plain", "not_plain"]),
        ("class N(int):\n    pass\ndef f(a):\n    return N(a[0] + 1)", ["not_plain", "not_plain"]),
    ],
)
def test_stored_answers_are_compared_by_type(code, expected):
    assert whats(contract({"kind": "call", "entry_point": "f", "inputs": ["[[1]]", "[[0]]"], "outputs": ["2", "1"]}), code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print(int(input()) + 1)", ["passed"] * 3),
        ("import sys\nfor line in sys.stdin:\n    print(int(line) + 1, end='  \\n\\n')", ["passed"] * 3),
        ("n = int(input())\nprint(n + 1)\nexit()", ["passed"] * 3),
        ("import sys\nn = int(sys.stdin.read())\nsys.stdout.write(str(n + 1))\nsys.exit(0)", ["passed"] * 3),
        ("import os\nn = int(input())\nos.write(1, b'%d' % (n + 1))\nos._exit(0)", ["passed"] * 3),
        ("def main():\n    print(int(open(0).read()) + 1)\nif __name__ == '__main__':\n    main()", ["passed"] * 3),
        ("n = int(input())\nprint(n + 1)\nraise SystemExit(1)", ["raised"] * 3),
        ("n = int(input())\nprint(n + 1 if n != 2 else 1 // 0)", ["passed", "raised", "passed"]),
        ("print(' ' + str(int(input()) + 1))", ["wrong"] * 3),
        ("input()", ["wrong"] * 3),
        ("print(input())\nprint(int(input()) + 1)", ["raised"] * 3),
    ],
)
def test_programs_that_read_and_print(code, expected):
    task = contract({"kind": "stdin", "inputs": ["1\n", "2\n", "3\n"], "outputs": ["2\n", "3", "4 \n\n"]})
    assert whats(task, f"```python\n{code}\n```") == expected


def test_helpers_of_the_prompt_are_the_prompts_own():
    prompt = 'def code(s):\n    return s[::-1]\n\ndef f(s):\n    """ Undo code. """\n'
    tests = {"kind": "assert", "entry_point": "f", "code": "def check(candidate):\n    assert candidate(code('abc')) == 'abc'\n"}
    task = contract(tests, prompt=prompt)
    assert whats(task, "    return code(s)\n") == ["passed"]
    assert whats(task, "def code(s):\n    return s\ndef f(s):\n    return s\n") == ["wrong"]


def test_what_a_test_prepares_with_broken_setup_is_ours():
    got = run(
        asserts("assert f(root) == 1", setup="root = Node(1)", entry_point="f"),
        "class Node:\n    def __init__(s, x): pass\ndef f(x):\n    return 1",
    )
    assert (got.broken, got.results) == ("broken_tests", ())
    assert "Node" in got.reason


@pytest.mark.parametrize(
    "code",
    [
        # says by itself what it has loaded
        'import os\ntext = b\'["names",[["f","call",[]],["K","value",[]]]]\'\nfor fd in range(3, 64):\n    try:\n        os.write(fd, len(text).to_bytes(4, \'big\') + text)\n    except OSError:\n        pass\nK = 1\ndef f(x):\n    return x\n',
        # dies when the tests ask for its constant, or answers without end
        "import os, sys\nclass D(dict):\n    def __getitem__(self, k): os._exit(0)\nsys.modules['__main__'].peer = 0\nimport threading\nthreading.Timer(0.3, os._exit, [0]).start()\nK = [[0] * 50000] * 3\ndef f(x):\n    return x",
        "K = ['x' * 1000 for _ in range(3000)]\ndef f(x):\n    return x",
        "K = lambda: 1\ndel K\ndef f(x):\n    return x",
    ],
)
def test_a_candidate_cannot_break_the_tests_into_null(code):
    got = run(asserts("assert f(1) == K == 2", entry_point="f"), code)
    assert got.broken is None
    assert not any(result.passed for result in got.results)


def test_tests_that_choke_on_an_answer_are_the_candidates_doing():
    tests = {"kind": "assert", "entry_point": "f", "code": "assert {v: 1 for v in f()} == {1: 1}\nassert f() == 0"}
    # as keys of a dict these take quadratic time: all have the same hash
    got = run(contract(tests, cpu=1.0), "def f():\n    return [n * (2 ** 61 - 1) for n in range(8, 60000)]")
    assert got.broken is None
    assert [(result.what, result.passed) for result in got.results] == [("timeout", False), ("not_run", False)]


def test_a_detail_tells_nothing_of_what_a_hidden_test_expects():
    task = asserts(
        "assert f(1) == 'secret-7', 'it is secret-7'\nassert int(f(1)) == 99887766\nassert {'a': f(1)}['secret-7'] == 2", entry_point="f"
    )
    for code in ("def f(x):\n    return 'wrong'", "def f(x):\n    raise ValueError('mine')", "def f(x):\n    return None"):
        text = str(run(task, code).results)
        assert "secret" not in text
        assert "99887766" not in text
    assert "mine" in str(run(task, "def f(x):\n    raise ValueError('mine')").results)


@pytest.mark.parametrize("kind", ["assert", "call"])
@pytest.mark.parametrize(
    "answer",
    [
        "['l', 0, []]",
        "eval('[' * 90 + ']' * 90)",  # lists without a tag
        "nest(140)",
        "nest(400)",
        "{'a': 1}",
        "['g', 'eval']",
        "['o', 'call', 0]",
        "['p', 0]",
        "['p', -1]",
        "['n', 'f']",
        "['r', 0]",
        "['s', 0, [['l', 1, []]]]",
        "['x', 'Fraction', 0, [1, 0]]",
        "['x', 'Decimal', 0, ['1e99999999']]",
        "['i', 'zz']",
    ],
)
def test_frames_that_a_program_writes_itself_are_read_and_wrong(kind, answer):
    code = f"""
import os, sys
def nest(n):
    value = 1
    for _ in range(n):
        value = ['t', [value]]
    return value
peer = next(v for v in vars(sys.modules['__main__']).values() if type(v).__name__ == 'function' and v.__name__ == 'dumps' or callable(v) and getattr(v, '__name__', '') == 'dumps')
def f(x):
    text = peer(['ret', {answer}, None]).encode()
    for fd in range(3, 30):
        try:
            os.write(fd, len(text).to_bytes(4, 'big') + text)
        except OSError:
            pass
    return 0
"""
    task = {
        "assert": asserts("assert f(1) == 5\nassert f(1) == [5]", entry_point="f"),
        "call": contract({"kind": "call", "entry_point": "f", "inputs": ["[1]", "[1]"], "outputs": ["5", "[5]"]}),
    }[kind]
    got = run(task, code)
    assert got.broken is None
    assert [result.passed for result in got.results] == [False, False]


def test_a_program_cannot_reach_into_what_a_test_hands_it():
    code = "def f(g):\n    for path in (lambda: g.__globals__, lambda: g.__closure__, lambda: g.__code__.co_consts, lambda: g.f_back, lambda: g.gi_frame, lambda: g.func, lambda: g.cr_frame):\n        try:\n            path()\n            return 'in'\n        except AttributeError:\n            pass\n    return 'out'\n"
    assert (
        whats(
            asserts(
                "secret = 5\nassert f(lambda: secret) == 'out'\nclass T:\n    x = 1\nassert f(T()) == 'out'\nassert f(i for i in [secret]) == 'out'"
            ),
            code,
        )
        == ["passed"] * 3
    )


def test_what_runs_inside_is_found_in_the_zip_too(tmp_path):
    build(tmp_path / "verilake.zip")
    code = "from udfs.coding.link import _program; import udfs; print('verilake.zip' in udfs.__file__, sorted(_program('tests')), len(_program('candidate')['program.py']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(tmp_path / "verilake.zip")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "['program.bin',", "'program.py',", "'start.py']", str(len(_program("candidate")["program.py"]))]
