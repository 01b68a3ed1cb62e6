"""The report in a real Chromium: a hundred rounds, sixty task types, hostile and unruly text everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.report import write_report
from jobs.views.visible import visible
from tests.browser.report_lake import HOSTILE, UNRULY, hostile_rows, lay
from tests.browser.webdriver import TAB, chromium, missing

ROOT = Path(__file__).resolve().parents[2]
ROUNDS, TYPES = 100, 60
WIDTHS = (360, 768, 1280)

pytestmark = [pytest.mark.browser, pytest.mark.skipif(missing() is not None, reason=missing() or "")]

#: Every way by which a page could do something, counted.
_ACTIVE = """
const all = [...document.querySelectorAll('*')];
return {
  scripts: document.scripts.length,
  elements: document.querySelectorAll('iframe,object,embed,img,video,audio,link,base,form,input,button,foreignObject,use,image').length,
  handlers: all.filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length,
  links: all.flatMap(e => [...e.attributes]).filter(a => /^(href|src|xlink:href|action|srcdoc|style)$/.test(a.name) && !a.value.startsWith('#')).length,
  marker: typeof window.pwned,
}
"""
#: What has the focus, and whether one can see that it has.
_FOCUS = """
const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
return {
  what: e.tagName, at: [...document.querySelectorAll('a,summary,[tabindex]')].indexOf(e),
  seen: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 && r.bottom > 0 && r.top < innerHeight && r.width > 0 && r.height > 0,
}
"""
#: What the keyboard must reach, in order of the document: what lies in closed details is reached when they are opened.
_REACHABLE = """
const all = [...document.querySelectorAll('a,summary,[tabindex]')];
const hidden = e => { for (let d = e.parentElement?.closest('details'); d; d = d.parentElement?.closest('details'))
  if (!d.open && !(e.tagName === 'SUMMARY' && e.parentElement === d)) return true; return false; };
return all.filter(e => e.tabIndex >= 0 && !hidden(e)).map(e => all.indexOf(e));
"""
#: Text whose contrast with what lies behind it is below WCAG's 4.5 (3 for large text), with the figure.
_FAINT = """
const rgba = c => { const m = c.match(/[\\d.]+/g).map(Number); return c.startsWith('color(') ? [m[0]*255, m[1]*255, m[2]*255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const light = c => { const f = [0, 1, 2].map(i => c[i] / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let texts = 0;
while (walk.nextNode()) {
  if (!walk.currentNode.data.trim()) continue;
  const e = walk.currentNode.parentElement, stack = [], style = getComputedStyle(e);
  for (let p = e; p; p = p.parentElement) stack.unshift(rgba(getComputedStyle(p).backgroundColor));
  const back = stack.reduce((b, c) => over(c, b), [255, 255, 255, 1]), front = over(rgba(style.color), back);
  const [hi, lo] = [light(front), light(back)].sort((a, b) => b - a), ratio = (hi + .05) / (lo + .05);
  texts++;
  if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) faint.push([e.tagName, e.className, ratio, e.textContent.slice(0, 40)]);
}
return [texts, faint];
"""
#: Elements that reach beyond the window though no region scrolls them.
_BEYOND = """
return [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && !e.closest('svg') && !e.matches('.skip')
  && e.getClientRects().length && (e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 || e.getBoundingClientRect().left < -1))
  .map(e => [e.tagName, e.className, e.getBoundingClientRect().right]);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of the last round; opened with all its details open as ``open_page``."""
    rows = hostile_rows(ROUNDS, TYPES)
    workspace = lay(tmp_path_factory.mktemp("report") / "ws", rows, tag=HOSTILE[2], campaign=HOSTILE[1], last=ROUNDS)
    return write_report(workspace)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as session:
        yield session


def open_details(browser):
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")


def test_the_page_asks_for_nothing_but_its_own_file_and_the_console_stays_empty(browser, page):
    browser.open("about:blank")
    browser.logs("performance"), browser.logs("browser")
    browser.open(page.as_uri())
    open_details(browser)
    browser.look(360)
    sent = [json.loads(entry["message"])["message"] for entry in browser.logs("performance")]
    asked = [event["params"]["request"]["url"] for event in sent if event["method"] == "Network.requestWillBeSent"]
    assert asked == [page.as_uri()]
    assert browser.logs("browser") == []


def test_the_console_and_the_network_are_really_watched(browser, tmp_path):
    # The test above would also pass if logs were never kept.
    bad = tmp_path / "bad.html"
    bad.write_text("<!DOCTYPE html><title>x</title><img src='missing.png'><script>console.error('seen')</script>")
    browser.logs("performance"), browser.logs("browser")
    browser.open(bad.as_uri())
    asked = [entry for entry in browser.logs("performance") if "missing.png" in entry["message"]]
    assert asked
    assert any("seen" in entry["message"] for entry in browser.logs("browser"))


def test_hostile_text_is_text_and_nothing_on_the_page_can_act(browser, page):
    browser.open(page.as_uri())
    open_details(browser)
    assert browser.run(_ACTIVE) == {"scripts": 0, "elements": 0, "handlers": 0, "links": 0, "marker": "undefined"}
    shown = browser.run("return document.body.textContent")
    for text in HOSTILE:
        assert text in shown


def test_a_policy_of_the_page_itself_would_stop_a_script_that_slipped_in(browser, page, tmp_path):
    # Not even a hole in the escaping may run anything: the page forbids every script, and its own style is known by its hash.
    holed = tmp_path / "holed.html"
    holed.write_text(
        page.read_text("utf-8").replace("</main>", "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'></main>"), "utf-8"
    )
    browser.open(holed.as_uri())
    assert browser.run("return document.scripts.length") == 1
    assert browser.run("return typeof window.pwned") == "undefined"
    assert browser.run("return getComputedStyle(document.querySelector('.kicker')).textTransform") == "uppercase"
    browser.logs("browser")


def test_characters_that_steer_a_display_are_spelled_out(browser, page):
    browser.open(page.as_uri())
    open_details(browser)
    shown = browser.run("return document.body.textContent")
    for raw in ("\u202e", "\u2066", "\x00", "\x07", "\x1b"):
        assert raw not in shown
        assert visible(raw) in shown
    assert "مرحبا بالعالم" in shown
    directions = browser.run(
        "return [...document.querySelectorAll('.said')].filter(e => e.textContent.startsWith('مرحبا')).map(e => getComputedStyle(e).direction)"
    )
    assert directions
    assert set(directions) == {"rtl"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_and_every_word_can_be_read(browser, page, width, dark):
    browser.look(width, dark=dark)
    browser.open(page.as_uri())
    for prepare in (lambda: None, lambda: open_details(browser)):
        prepare()
        wide, room = browser.run("const e = document.scrollingElement; return [e.scrollWidth, e.clientWidth]")
        assert wide <= room
        assert browser.run(_BEYOND) == []
    texts, faint = browser.run(_FAINT)
    assert texts > 5000
    assert faint == []
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(21, 23, 26)" if dark else "rgb(252, 251, 248)")


def test_long_texts_are_cut_with_a_mark_that_says_how_much(browser, page):
    browser.open(page.as_uri())
    open_details(browser)
    words = browser.run("return [...document.querySelectorAll('.said')].map(e => e.textContent).filter(t => t.startsWith('wwww'))")
    assert words
    # 5,000 letters, of which 1,400 are shown.
    assert all(word.endswith("… 3,600 more characters") and word.count("w") == 1400 for word in words)
    lines = browser.run("return [...document.querySelectorAll('.said')].map(e => e.textContent).filter(t => t.startsWith('line'))")
    assert lines
    assert all(text.count("line") == 40 and "more characters" in text for text in lines)
    assert UNRULY[7] not in browser.run("return document.body.textContent")


def test_the_keyboard_reaches_everything_in_order_and_one_sees_where_it_is(browser, page):
    browser.look(1280)
    browser.open(page.as_uri())
    wanted = browser.run(_REACHABLE)
    assert len(wanted) > TYPES + 10
    for at in wanted:
        browser.press(TAB)
        found = browser.run(_FOCUS)
        assert found["at"] == at, f"after {found['what']}"
        assert found["seen"], f"focus of {found['what']} {at} cannot be seen"
    kinds = browser.run(
        "return [...document.querySelectorAll('.scroll')].map(e => [e.tabIndex, e.getAttribute('role'), !!e.getAttribute('aria-label')])"
    )
    assert len(kinds) >= 8
    assert all(kind == [0, "region", True] for kind in kinds)


def test_a_summary_opens_by_the_keyboard_and_a_wide_table_moves_in_its_region(browser, page):
    browser.look(360)
    browser.open(page.as_uri())
    browser.run("document.querySelectorAll('summary')[1].focus()")
    before = browser.run("return document.activeElement.parentElement.open")
    browser.press("\ue006")
    assert browser.run("return document.activeElement.parentElement.open") is not before
    browser.run("document.querySelector('.scroll').focus()")
    for _ in range(3):
        browser.press("\ue014")
    moved = browser.run(
        "return new Promise(done => setTimeout(() => done([document.querySelector('.scroll').scrollLeft, document.scrollingElement.scrollLeft]), 400))"
    )
    assert moved[0] > 0
    assert moved[1] == 0


def test_a_browser_without_scripts_shows_the_same_words(browser, page):
    def words():
        """What is laid out, taken from the layout itself: no script takes part."""
        browser.open(page.as_uri())
        taken = browser.cdp("DOMSnapshot.captureSnapshot", computedStyles=[])
        layout = taken["documents"][0]["layout"]["text"]
        return [taken["strings"][at] for at in layout if at >= 0]

    browser.look(1280)
    with_scripts = words()
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    try:
        without = words()
    finally:
        browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    assert without == with_scripts
    assert any("Wall time by station" in text for text in without)
    assert len(without) > 2000


def test_printed_on_a4_nothing_is_cut_at_an_edge_or_hidden_in_a_region(browser, page):
    browser.look(718)  # 210 mm less margins of 10 mm, at 96 pixels an inch
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    try:
        browser.open(page.as_uri())
        hides = "s => s.overflowX !== 'visible' || s.maxHeight !== 'none'"
        assert browser.run(f"return [...document.querySelectorAll('.scroll')].map(e => getComputedStyle(e)).filter({hides}).length") == 0
        wide, room = browser.run("const e = document.scrollingElement; return [e.scrollWidth, e.clientWidth]")
        assert wide <= room
        assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
        # What is folded away on a screen is on the paper.
        folded = browser.run("const d = document.querySelector('details:not([open]) > div'); return d.getBoundingClientRect().height")
        assert folded > 0
    finally:
        browser.cdp("Emulation.setEmulatedMedia", media="")


def test_the_verb_writes_that_page_without_a_jvm(page, tmp_path):
    workspace = page.parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "jobs.cli", "report", "-w", str(workspace), "--out", str(tmp_path / "r.html")], capture_output=True, text=True, check=False, cwd=ROOT
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.html").read_bytes() == page.read_bytes()
