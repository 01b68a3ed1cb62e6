"""The report from the inside: figures known by hand, text from outside, structure, determinism. The browser's view is in tests/browser."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.cli.main import run
from jobs.report import charts, default_target, marks, write_report
from jobs.report.contrast import sides
from jobs.report.page import sum_parts
from jobs.report.samples import read_samples
from jobs.report.spread import OUTCOMES, _length_bars, _reward_bars, length_spread, reward_spread
from jobs.report.tables import costs
from jobs.report.write import ReportError, ReportTargetError
from jobs.views.changes import Change
from jobs.views.funnel import Sum
from jobs.views.reader import LakeReader, NoLakeError
from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES
from tests.browser.report_lake import HOSTILE, UNRULY, Rows, add_round, hostile_rows, lay, lay_pin

VOID = {"meta", "path", "rect", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Elements with their attributes and whole text, in order; unbalanced tags are an error."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.comments, self._open = [], [], []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "parents": [held["tag"] for held in self._open]}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "attrs": dict(attrs), "text": "", "parents": [held["tag"] for held in self._open]})

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag
        if tag in {"dt", "dd"}:  # blocks: their words do not run together
            self.handle_data(" ")

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def handle_comment(self, data):
        self.comments.append(data)

    def all(self, tag, **attrs):
        return [e for e in self.elements if e["tag"] == tag and all(e["attrs"].get(k.rstrip("_")) == v for k, v in attrs.items())]

    def table(self, title):
        """Rows of the table with this caption, as lists of texts; the head first."""
        at = next(n for n, e in enumerate(self.elements) if e["tag"] == "caption" and e["text"].startswith(title))
        rows, current = [], None
        for element in self.elements[at + 1 :]:
            if element["tag"] == "table":
                break
            if element["tag"] == "tr":
                rows.append(current := [])
            elif element["tag"] in {"td", "th"}:
                current.append(" ".join(element["text"].split()))
        return rows


def words(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def laid(tmp_path_factory):
    """Three closed rounds, two task types; see hostile_rows for what was solved."""
    return lay(tmp_path_factory.mktemp("laid") / "ws", hostile_rows(3, 2))


@pytest.fixture
def workspace(laid, tmp_path):
    """A copy of one's own."""
    return Workspace(shutil.copytree(laid.root, tmp_path / "ws"))


@pytest.fixture
def page(workspace):
    return Page(write_report(workspace).read_text("utf-8"))


def test_the_newest_closed_round_goes_to_the_workspaces_reports(workspace):
    assert write_report(workspace) == default_target(workspace, 3) == workspace.root / "reports" / "round-3.html"
    assert [path.name for path in (workspace.root / "reports").iterdir()] == ["round-3.html"]


def test_headlines_are_what_the_lake_says_with_their_change(page):
    said = [
        words(e["text"])
        for e in page.elements
        if e["tag"] == "div" and e["parents"][-1] == "dl" and "main" in e["parents"] and "article" not in e["parents"]
    ]
    # Held out: 2 of 4 on each of 2 prompts, in every round. No spread between the prompts, so 8 effective samples: Wilson(4, 8) = 0.215, 0.785.
    assert "Held-out solve rate 50.0 % as in round 2 95 % interval 21–79 %; 4 of 8 samples on 2 prompts" in said
    # Training: round n solves n % 4 of 4, so 3 of 4 in the third and 2 of 4 in the second.
    assert any(text.startswith("Training solve rate 75.0 % +25.0 points on round 2") and "6 of 8 samples" in text for text in said)
    assert "Prompts that can teach 100.0 % as in round 2 2 of 2 training prompts solved sometimes, not always" in said
    assert any(text.startswith("Samples accepted 50.0 % as in round 2 of 16 samples") for text in said)
    assert any(text.startswith("Rewards unknown 12.5 %") for text in said)
    assert "Tasks asked 2 as in round 2 in 4 prompts" in said


def test_rounds_stand_side_by_side_the_newest_first(page):
    head, *rows = page.table("Rounds side by side")
    assert [row[head.index("Round")] for row in rows] == ["3", "2", "1"]
    assert [row[head.index("training solved")] for row in rows] == ["75.0 %", "50.0 %", "25.0 %"]
    assert [row[head.index("held-out solved")] for row in rows] == ["50.0 %"] * 3
    assert [row[head.index("alerts")] for row in rows] == ["2", "0", "0"]
    assert [row[head.index("policy")] for row in rows] == ["policy-3", "policy-2", "policy-1"]


def test_solve_rates_by_type_and_form_carry_counts(page):
    _, _, first, second = page.table("By task type")
    # 3 of 4 on a single prompt is worth one sample: Wilson(0.75, 1) = 0.118, 0.986; likewise Wilson(0.5, 1) = 0.054, 0.946.
    assert first == [HOSTILE[0], "", "75.0 %", "11–99 %", "3 / 4", "", "50.0 %", "5–95 %", "2 / 4"]
    assert second[0].endswith("… 152 more characters")
    rows = page.table("By prompt form")[2:]
    assert [(row[0], row[2], row[4], row[6], row[8]) for row in rows] == [
        ("answer_only", "75.0 %", "6 / 8", "–", "–"),
        ("choice", "–", "–", "50.0 %", "4 / 8"),
    ]


def test_every_sample_is_in_both_distributions_once(workspace):
    reader = LakeReader.open(workspace)
    lengths, rewards = length_spread(reader, 3), reward_spread(reader, 3)
    # A task: in training 3 correct, 1 wrong; held out 2 correct, 1 wrong, 1 unknown.
    assert lengths.totals == rewards.totals == {"correct": 10, "wrong": 4, "unknown": 2}
    assert rewards.labels == ("0", "1")
    assert rewards.bars == {"correct": (0, 10), "wrong": (4, 0), "unknown": (0, 0)}
    # Lengths are 10 * index + task: 0, 1, 10, 11 (both roles), 20, 21, 30, 31; unknown ones have none.
    assert lengths.labels[0] == "0–1"
    assert sum(sum(counts) for counts in lengths.bars.values()) == 14
    assert lengths.missing == {"correct": 0, "wrong": 0, "unknown": 2}


def test_bars_have_round_widths_and_the_longest_share_the_last_one():
    few = _length_bars(Counter({0.0: 1, 3.0: 1}))
    assert few.labels == ("0", "1", "2", "3")
    many = _length_bars(Counter({float(n): 1 for n in range(1000)} | {90000.0: 1}))
    assert many.labels[0] == "0–49"
    assert many.labels[-1] == "1,000 and more"
    assert many.at(49) == 0
    assert many.at(50) == 1
    assert many.at(90000) == len(many.labels) - 1
    assert _length_bars(Counter()).labels == ()


def test_many_different_rewards_share_ten_even_bars():
    bars = _reward_bars(Counter({n / 20: 1 for n in range(21)}))
    assert len(bars.labels) == 10
    assert [bars.at(value) for value in (0.0, 0.05, 0.1, 0.95, 1.0)] == [0, 0, 1, 9, 9]
    assert _reward_bars(Counter({0.0: 3, 0.5: 1, 1.0: 2})).labels == ("0", "0.5", "1")


def test_prices_are_sums_of_exact_parts(workspace):
    # Two calls of 0.125 and two replies of 0.25: all priced by their engine.
    found = costs(LakeReader.open(workspace), 3)
    assert sorted((cost.stage.split()[0], cost.price, cost.seconds) for cost in found) == [
        ("conversion,", 0.25, 0.5), ("conversion,", 0.25, 0.5), ("rollouts", 0.125, 0.002), ("rollouts", 0.125, 0.002),
    ]  # fmt: skip


def test_free_engines_are_said_to_cost_nothing(tmp_path):
    rows = hostile_rows(1, 1)
    for name in ("silver.calls", "bronze.replies"):
        for row in rows.held[name]:
            row["price"] = 0.0
    html = write_report(lay(tmp_path / "ws", rows)).read_text("utf-8")
    assert "No paid calls: every engine that was used costs nothing but time." in html
    assert "no call was paid for" in html


def test_prompts_that_came_and_went_are_counted_by_role(tmp_path):
    rows = hostile_rows(1, 4)
    add_round(rows, 2, 2)
    changed = Page(write_report(lay(tmp_path / "ws", rows)).read_text("utf-8")).table("Prompts that came and went")
    assert changed[1:] == [["eval", "2", "0", "2"], ["train", "2", "0", "2"]]


def test_the_funnel_shows_every_sum_and_a_failing_one_loudly(tmp_path, page):
    # Of the ingest 7, of the round plan, rollout, ingest-rollouts, check and its repairs.
    assert "All 12 sums of its funnel hold" in words(page.all("p", class_="standfirst")[0]["text"])
    rows = hostile_rows(3, 2)
    rows.held["silver.trajectory_verdicts"].pop()
    broken = Page(write_report(lay(tmp_path / "broken", rows)).read_text("utf-8"))
    said = words(broken.all("p", class_="standfirst")[0]["text"])
    assert "1 of 12 sums of its funnel do not hold" in said
    assert [row for row in broken.table("Funnel") if row[-1] == "off by -1"]


def test_parts_of_a_sum_name_the_commonest_reasons_and_lose_none():
    parts = {"kept": 3, "waiting": 1} | {f"rejected: r{n:02d}": n for n in range(1, 13)}
    found = sum_parts(Sum("s", "pool", "rows", 82, parts))
    assert found[:3] == [("kept", 3, "on"), ("waiting", 1, "wait"), ("rejected: r12", 12, "out")]
    assert found[-1] == ("for 4 rarer reasons", 1 + 2 + 3 + 4, "out")
    assert sum(n for _, n, _ in found) == 82


def test_samples_are_the_same_for_everyone_and_of_every_class(workspace):
    found = read_samples(LakeReader.open(workspace), 3)
    assert list(found) == sorted([HOSTILE[0], "t" * 200])
    for held in found.values():
        assert Counter(s.shown_as for s in held) == {"correct": 2, "wrong": 2, "unknown": 1, "flagged": 2}
        assert len({s.trajectory_id for s in held}) == len(held)
        # Two correct ones of two prompts: each prompt speaks before one speaks twice.
        assert {s.role for s in held if s.shown_as == "correct"} == {"train", "eval"}
        assert all(s.outcome == s.shown_as for s in held if s.shown_as != "flagged")
    assert found == read_samples(LakeReader.open(workspace), 3)


def test_equal_lakes_give_equal_bytes_whatever_the_order_of_their_rows(tmp_path, workspace):
    first = write_report(workspace).read_bytes()
    assert write_report(workspace, 3, tmp_path / "again.html").read_bytes() == first
    turned = lay(tmp_path / "turned", hostile_rows(3, 2), turned=True)
    assert write_report(turned).read_bytes() == first


def test_a_later_round_changes_nothing_in_an_earlier_report(tmp_path, workspace):
    first = write_report(workspace).read_bytes()
    rows = hostile_rows(3, 2)
    add_round(rows, 4, 2)
    grown = lay(tmp_path / "grown", rows)
    assert write_report(grown, 3).read_bytes() == first
    assert write_report(grown).name == "round-4.html"


def test_the_page_has_no_way_to_act_and_its_structure_is_sound(workspace):
    lay_pin(workspace, 3, HOSTILE[2], HOSTILE[1])
    html = write_report(workspace).read_text("utf-8")
    page = Page(html)
    tags = {e["tag"] for e in page.elements}
    assert not tags & {"script", "iframe", "object", "embed", "img", "link", "base", "form", "input", "button", "foreignobject", "use"}
    assert page.comments == []
    for element in page.elements:
        assert not [name for name in element["attrs"] if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action", "xlink:href"):
            assert element["attrs"].get(name, "#").startswith("#")
    ids = [e["attrs"]["id"] for e in page.elements if "id" in e["attrs"]]
    assert len(ids) == len(set(ids))
    assert {e["attrs"]["href"][1:] for e in page.all("a")} <= set(ids)
    assert {e["attrs"]["aria-labelledby"] for e in page.all("section")} <= set(ids)
    assert page.all("html")[0]["attrs"]["lang"] == "en"
    assert [len(page.all(tag)) for tag in ("main", "h1", "nav", "header", "footer")] == [1] * 5
    levels = [int(e["tag"][1]) for e in page.elements if re.fullmatch(r"h\d", e["tag"])]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table")) >= 8
    assert all(e["attrs"].get("scope") in {"row", "col", "colgroup"} for e in page.all("th"))
    assert all(
        e["attrs"].get("aria-hidden") == "true" or (e["attrs"].get("role") == "img" and e["attrs"]["aria-label"]) for e in page.all("svg")
    )
    regions = page.all("div", role="region")
    assert len(regions) == len(page.all("table"))
    assert all(e["attrs"]["tabindex"] == "0" and e["attrs"]["aria-label"] for e in regions)
    assert "default-src 'none'" in html
    assert "://" not in html


def test_what_was_published_is_named_and_a_damaged_pin_does_not_lose_the_report(workspace):
    lay_pin(workspace, 2, "round-2")
    lay_pin(workspace, 3, "round-3.2", "news & <b>views</b>")
    html = write_report(workspace).read_text("utf-8")
    page = Page(html)
    assert words(page.all("h1")[0]["text"]) == "Round 3 of news & <b>views</b>"
    assert page.table("Published sets")[1][:4] == ["rl", "30", "20", "120.6 KiB"]
    head, *rows = page.table("Rounds side by side")
    assert [row[head.index("published as")] for row in rows] == ["round-3.2", "round-2", "–"]
    (workspace.root / "pins" / "round-3.json").write_text("{")
    html = write_report(workspace).read_text("utf-8")
    assert "pins/round-3.json cannot be read" in html


def test_the_commit_is_that_of_the_rounds_tag_and_a_tag_from_outside_is_never_asked_for(workspace):
    def git(*arguments):
        who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        return subprocess.run(
            ["git", "-C", str(workspace.root), *who, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    lay_pin(workspace, 3, "round-3")
    assert "round-3</bdi></dd>" in write_report(workspace).read_text("utf-8")
    if not (workspace.root / ".git").is_dir():
        git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "three")
    git("tag", "round-3")
    assert f"round-3</bdi>, commit <bdi>{git('rev-parse', 'round-3')[:12]}" in write_report(workspace).read_text("utf-8")
    lay_pin(workspace, 3, "--output=x")
    assert "--output=x</bdi></dd>" in write_report(workspace).read_text("utf-8")
    assert not (workspace.root / "x").exists()


def test_two_rounds_are_paired_as_compare_does_and_a_refusal_is_said(tmp_path, page):
    rows = page.table("Held-out scores, paired by cluster")
    # Each prompt 2 of 4 in both rounds: no difference in any resample; the two documents are a cluster each.
    assert rows[1] == ["Fixed set", "50.0 %", "50.0 %", "0.0", "0.0 to 0.0", "2", "2"]
    other = hostile_rows(2, 2)
    for row in other.held["gold.round_plan"]:
        row["n_samples"] += row["round"] if row["role"] == "eval" else 0
    refused = Page(write_report(lay(tmp_path / "other", other)).read_text("utf-8"))
    said = words(" ".join(e["text"] for e in refused.elements if e["tag"] in {"p", "dd"}))
    assert "The scores of the two rounds are not held against each other" in said
    assert "cannot be compared with round 1" in said
    assert not [e for e in refused.all("caption") if "paired" in e["text"]]


def test_settings_that_differ_are_listed_with_what_went_and_what_came():
    change = Change("templates", "a@1; b@1; c@1", "a@1; c@2; b@1")
    assert sides(change) == ("c@1", "c@2")
    assert sides(Change("policy", None, "p")) == ("", "p")


def test_a_lake_whose_ledger_is_gone_is_reported_on_from_its_tables(tmp_path):
    rows = hostile_rows(2, 1)
    rows.held["ops.rounds"].clear()
    rows.held["ops.job_runs"].clear()
    page = Page(write_report(lay(tmp_path / "ws", rows)).read_text("utf-8"))
    assert words(page.all("dl", class_="facts")[0]["text"]).startswith("Policy rolled out policy-2 Closed unknown")


def test_a_closed_round_of_which_nothing_else_is_left_still_has_its_page(tmp_path):
    rows = Rows()
    rows.add("ops.rounds", event_id="c", round=1, state="closed", seq=4, policy_id="p", detail="not json")
    page = Page(write_report(lay(tmp_path / "ws", rows)).read_text("utf-8"))
    assert "no held-out sample with a known reward" in words(page.all("p", class_="standfirst")[0]["text"])


def test_a_lake_that_lacks_newer_tables_is_reported_on(tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    rows = hostile_rows(1, 1)
    for table in ALL_TABLES:
        if rows.held[table.name]:
            data = pa.Table.from_pylist(rows.held[table.name], schema=table.schema)
            write_deltalake(str(workspace.lake_root / table.path), data, partition_by=[table.partition] if table.partition else None)
    assert write_report(workspace).is_file()


def test_what_cannot_be_reported_on_is_refused_with_the_way_out(tmp_path, workspace, capsys):
    with pytest.raises(NoLakeError):
        write_report(Workspace.init(tmp_path / "empty"))
    with pytest.raises(ReportError, match="no round is closed yet"):
        write_report(lay(tmp_path / "open", Rows()))
    with pytest.raises(ReportError, match="round 9 is not closed; rounds 1 to 3 are"):
        write_report(workspace, 9)
    with pytest.raises(ReportTargetError, match="is a directory"):
        write_report(workspace, 3, tmp_path)
    assert run(["report", "-w", str(workspace.root), "--round", "9"]) == 3
    assert run(["report", "-w", str(workspace.root), "--out", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_verb_says_where_the_page_is(workspace, tmp_path, capsys):
    target = tmp_path / "new" / "[bold]page.html"
    assert run(["report", "-w", str(workspace.root), "--round", "2", "--out", str(target), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f'{{"report":"{target}"}}\n'
    assert f"report: {target}" in captured.err
    assert target.read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("text", [*HOSTILE, *UNRULY[:5]])
def test_text_keeps_every_character_as_text(text):
    html = str(marks.block(text))
    assert not re.search(r"<(?!/?span)", html)
    shown = Page(f"<p>{html}</p>").all("p")[0]["text"]
    assert shown == "".join(char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text)


def test_cuts_say_how_much_is_missing_and_are_made_only_where_they_gain():
    assert marks.name("x" * 54) == "x" * 54
    assert Page(f"<p>{marks.name('x' * 60)}</p>").all("p")[0]["text"] == "x" * 48 + " … 12 more characters"
    assert str(marks.block("a\n" * 100)).count("\n") == marks.LINES - 1
    assert marks.cell(None) == "–"


def test_figures_are_written_for_people():
    assert [marks.share(0.0), marks.share(1.0), marks.share(None), marks.share(2 / 3)] == ["0.0 %", "100.0 %", "–", "66.7 %"]
    # Outwards, so that the interval that is shown never claims more than the one that was computed.
    assert [marks.bounds((0.2153, 0.7847)), marks.bounds((0.0, 1.0)), marks.bounds((0.29, 0.58))] == ["21–79 %", "0–100 %", "29–58 %"]
    assert [marks.points(0.0251), marks.points(-0.1)] == ["+2.5", "−10.0"]
    assert [marks.seconds(0.04), marks.seconds(119), marks.seconds(150), marks.seconds(7260)] == [
        "0.0 s",
        "119.0 s",
        "2 min 30 s",
        "2 h 01 min",
    ]
    assert [marks.figure(3.0), marks.figure(0.12345), marks.figure(float("nan"))] == ["3", "0.1235", "–"]
    assert [marks.size(10), marks.size(2048), marks.size(3 * 2**30)] == ["10 B", "2.0 KiB", "3.0 GiB"]


def test_axes_hold_every_value_and_end_on_marks():
    for values in ([0.52, 0.83], [0.0, 1.0], [0.5], [0.05, 0.64], [0.31, 0.39], []):
        axis = charts.Axis.around(values)
        assert axis.marks[0] == axis.low
        assert axis.marks[-1] == axis.high
        assert len(axis.marks) <= 6
        assert all(axis.low <= value <= axis.high for value in values)
        assert 0.0 <= axis.low < axis.high <= 1.0


def test_a_line_has_gaps_where_a_round_has_no_figure():
    axis = charts.Axis.around([0.0, 1.0])
    drawn = charts.line([0.0, 1.0, None, 0.5], [(0.0, 0.2), (0.8, 1.0), None, (0.4, 0.6)], axis)
    assert drawn.path == "M1.0 100.0L33.67 0.0M99.0 50.0"
    assert drawn.dots.count("M") == 3
    assert drawn.band.count("M") == 2


def test_bars_are_to_scale_and_what_is_there_is_seen():
    assert charts.columns([0, 1, 50, 100], 100) == [(100.0, 0.0), (98.5, 1.5), (50.0, 50.0), (0.0, 100.0)]
    assert charts.stack([3, 1], 4) == [(0.0, 75.0), (75.0, 25.0)]
    # Parts that are more than their total stay within the bar.
    assert charts.stack([3, 3], 4) == [(0.0, 50.0), (50.0, 50.0)]
    assert charts.stack([], 0) == []
    assert set(OUTCOMES) == {"correct", "wrong", "unknown"}
