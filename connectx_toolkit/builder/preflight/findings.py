"""The report of a pre-flight or a build, and its finding about the function that Kaggle's loader takes."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from connectx_toolkit.kaggle.agent_function import first_bindings, meant_agent
from connectx_toolkit.system.table import Part, Shown, Table

__all__ = ["Report"]
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal, in messages of torch


class ReportLine(NamedTuple):
    """One line of the report.

    level: "pass"; "note"; "warning": Kaggle accepts the file, but it will lose games; "unknown": this machine lacks
        what is needed to decide; "reject": Kaggle does not accept the file, or it is not what its author meant.
    """

    topic: str
    level: str
    text: str


@dataclass(repr=False)
class Report(Shown):
    """The findings about a file; it is accepted if no finding rejects it or leaves the verdict open.

    Attributes:
        written: the file that was built; None of a check.
    """

    name: str
    findings: list[ReportLine] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    written: Path | None = None

    @property
    def verdict(self) -> str:
        """ "ACCEPT", "REJECT", or "NOT JUDGED" """
        return "REJECT" if self.reasons else "NOT JUDGED" if self.unknown else "ACCEPT"

    @property
    def accepted(self) -> bool:
        return self.verdict == "ACCEPT"

    @property
    def reasons(self) -> list[str]:
        return self._at("reject")

    @property
    def unknown(self) -> list[str]:
        return self._at("unknown")

    @property
    def warnings(self) -> list[str]:
        return self._at("warning")

    def _at(self, level: str) -> list[str]:
        return [f"{finding.topic}: {finding.text}" for finding in self.findings if finding.level == level]

    def add(self, topic: str, level: str, text: str) -> None:
        """Adds a finding in one line without colours, unless the same one is already there."""
        finding = ReportLine(topic, level, " ".join(ESCAPES.sub("", text).split()))
        if finding not in self.findings:
            self.findings.append(finding)

    def add_caught(self, trace: Mapping[str, Any], place_of: Callable[[str, int], str]) -> None:
        """Adds errors that an agent catches by a handler for any, see ``connectx_toolkit.kaggle.traces``."""
        for text, file, line, number in trace.get("caught", ()):
            where = f"{text} ({place})" if (place := place_of(file, line)) else text
            self.add("caught", "note", f"in {number} of {trace['count']} positions it catches {where}, and goes on")

    def as_json(self) -> dict[str, Any]:
        findings = [finding._asdict() for finding in self.findings]
        written = {"written": str(self.written) if self.written else None}
        return {"file": self.name, "verdict": self.verdict, "findings": findings, "figures": self.figures} | written

    def parts(self) -> list[Part]:
        """The findings, the verdict, and the file that was built."""
        warned = "; Kaggle takes it, and the warnings say where it will lose games" if self.warnings else ""
        verdict = f"{self.verdict} {self.name}{warned if self.accepted else ''}"
        table = Table("", ("what", "", "found"), self.findings, kind=itemgetter(1))
        return [table, verdict, *([f"wrote {self.written}"] if self.written else [])]


CURE = "define it last, under a name used nowhere above"


def async_agent(tree: ast.Module) -> str:
    """The name of the ``async def`` that Kaggle would take, but never await; "" if there is none."""
    bound = first_bindings(tree)
    last = next((node for node in reversed(tree.body) if isinstance(node, ast.AsyncFunctionDef)), None)
    return last.name if last is not None and bound[-1][0] == last.name else ""


def judge_callable(tree: ast.Module, loaded: dict[str, Any], fails: bool, report: Report) -> None:
    """Reports which callable Kaggle's loader took, and whether the author can have meant it.

    Args:
        loaded: its "name", "kind" and "arguments".
        fails: whether the validation game fails.
    """
    kind = loaded["kind"]
    name = _bound_to(tree, kind) or loaded["name"] if loaded["name"] == kind else loaded["name"]
    lines = {bound: line for bound, line, _ in first_bindings(tree)}
    line = f" (line {lines[name]})" if name in lines else ""
    what = "function" if kind == "function" else f"callable (a {kind})"
    text = f"Kaggle will call `{name}`{line}: the last {what} defined in the file"
    report.figures["callable"] = {"name": name, "kind": kind, "arguments": loaded["arguments"]}
    meant = meant_agent(tree, name, fails)
    if meant is not None:
        text = f"{text}. `{meant.name}` (line {lines.get(meant.name, meant.lineno)}) is not called: {CURE}"
        report.add("callable", "reject" if fails else "warning", text)
    elif kind != "function":
        report.add("callable", "note", f"{text}; not a plain function: older versions of Kaggle's loader refuse it")
    else:
        report.add("callable", "pass", text)


def _bound_to(tree: ast.Module, kind: str) -> str:
    """The name of the last object that the file makes by calling ``kind``, which has no name itself; "" if none."""
    made = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    calls = [(node.targets[0], ast.unparse(node.value.func)) for node in made if isinstance(node.value, ast.Call)]
    names = [ast.unparse(target) for target, called in calls if called.rpartition(".")[2] == kind]
    return names[-1] if names else ""
