"""The program in a response."""

from __future__ import annotations

import time

import pytest

from udfs.coding.response import MAX_RESPONSE, extract_program
from udfs.coding.syntax import MAX_CODE

BODY = "    return x + 1\n"
WHOLE = "def f(x):\n" + BODY
PROMPT = 'from typing import List\n\nK = 1\n\ndef helper(x):\n    return x\n\ndef f(x: int) -> int:\n    """ Add one.\n    >>> f(1)\n    2\n    """\n'


@pytest.mark.parametrize(
    ("response", "code", "flags"),
    [
        (WHOLE, WHOLE, ()),
        (f"Here it is:\n```python\n{WHOLE}```\nDone.", WHOLE, ()),
        (f"```\n{WHOLE}```", WHOLE, ()),
        (f"```py\r\n{WHOLE}```".replace("\n", "\r\n"), WHOLE, ()),
        (f"~~~python\n{WHOLE}~~~", WHOLE, ()),
        (f"````python\n{WHOLE}# ```\n````", WHOLE + "# ```\n", ()),
        # the last block that defines the function, not the example of its use
        (f"```python\n{WHOLE}```\nUse:\n```python\nprint(f(1))\n```", WHOLE, ("several_blocks",)),
        (f"```python\ndef f(x):\n    return 0\n```\nBetter:\n```python\n{WHOLE}```", WHOLE, ("several_blocks",)),
        (f"```python\n{WHOLE}```\n```bash\npython f.py\n```", WHOLE, ()),
        # cut off by the token limit
        (f"Sure.\n```python\n{WHOLE}", WHOLE, ()),
        ("```python\nf = lambda x: x + 1\n```", "f = lambda x: x + 1\n", ()),
        ("```python\nfrom operator import neg as f\n```", "from operator import neg as f\n", ()),
    ],
)
def test_where_the_program_is(response, code, flags):
    found = extract_program(response, "", "f")
    assert (found.code, found.flags) == (code, flags)
    assert found.tree is not None
    assert found.fenced == ("```" in response or "~~~" in response)


@pytest.mark.parametrize(
    ("response", "flag"),
    [
        ("", "no_code"),
        ("```python\n```", "no_code"),
        ("I would add one to x.", "syntax_error"),
        ("```python\ndef f(x)\n    return\n```", "syntax_error"),
        ("```python\ndef g(x):\n    return x\n```", "entry_point_missing"),
        ("```python\n" + "x = 1\n" * MAX_CODE + WHOLE + "```", "overlong"),
        ("```javascript\nfunction f(x) { return x + 1 }\n```", "no_code"),
        ("```python\nclass A:\n    def f(self):\n        pass\n```", "entry_point_missing"),
    ],
)
def test_what_is_no_program(response, flag):
    found = extract_program(response, "", "f")
    assert flag in found.flags
    assert found.tree is None or flag == "entry_point_missing"


@pytest.mark.parametrize(
    "response",
    [
        BODY,
        BODY + "\n\nprint(f(1))\n",
        BODY + "\n\nThis adds one to x, which isn't hard.\n",
        "```python\n" + BODY + "```",
        PROMPT + BODY,
        WHOLE,
        "```python\n" + PROMPT + BODY + "```",
    ],
)
def test_a_prompt_of_code_is_continued_or_repeated(response):
    found = extract_program(response, PROMPT, "f")
    names: dict = {}
    exec(found.prelude + found.code, names)  # noqa: S102 - the table above
    assert names["f"](1) == 2
    assert found.prelude == PROMPT[: PROMPT.index("def f(")]
    assert "K" in names


def test_a_prompt_that_ends_in_a_bare_signature():
    found = extract_program(BODY, "import math\ndef f(x):", "f")
    assert (found.code, found.prelude) == ("import math\ndef f(x):\n" + BODY.rstrip(), "import math\n")


def test_a_program_that_is_run_as_a_whole_needs_no_function():
    assert extract_program("```python\nprint(input())\n```").code == "print(input())\n"


@pytest.mark.parametrize(
    "text",
    [
        "`" * MAX_RESPONSE, "```python\n" * 100_000, "```\n" * 200_000, "(" * MAX_CODE, "1+" * 30_000 + "1", "-" * 60_000 + "1", "x" * (4 * MAX_RESPONSE), "def f(x):\n" * 6000,
        "9" * 60_000, "f'" * 30_000, "\x00" * 1000, "\ud800 = 1", "if x:\n pass\n" + "elif x:\n pass\n" * 4000, "~" * 500_000 + "`" * 500_000, "\\\n" * 30_000, "[" * 100 + "]" * 100, "@x\n" * 20_000,
    ],
    ids=range(17),
)  # fmt: skip
def test_hostile_texts_are_read_in_time_and_raise_nothing(text):
    begun = time.process_time()
    for response in (text, f"```python\n{text}\n```", f"    {text}"):
        extract_program(response, PROMPT, "f")
    assert time.process_time() - begun < 20
