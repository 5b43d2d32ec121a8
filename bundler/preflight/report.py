"""What the pre-flight found about a file, and what it was held to."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """What the judge allows. Size and memory are not published: these are the sister competitions' figures."""

    act_timeout: float = 2.0  # seconds a move
    bank: float = 60.0  # seconds a game
    size: int = 100 << 20  # bytes
    memory: int = 6 << 30  # bytes

    @property
    def first_move(self) -> float:
        return self.act_timeout + self.bank


class Finding(NamedTuple):
    """One line of the report.

    level: "pass"; "note"; "warning": Kaggle accepts the file, which will then lose games; "unknown": what decides is
        missing on this machine; "reject": Kaggle's validation game fails.
    """

    topic: str
    level: str
    text: str


@dataclass
class Report:
    """What was found about a file; it is accepted when no finding rejects it or leaves it open."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """ "ACCEPT", "REJECT", or "NOT JUDGED" """
        if self.reasons:
            return "REJECT"
        return "NOT JUDGED" if any(finding.level == "unknown" for finding in self.findings) else "ACCEPT"

    @property
    def accepted(self) -> bool:
        return self.verdict == "ACCEPT"

    @property
    def reasons(self) -> list[str]:
        return [f"{finding.topic}: {finding.text}" for finding in self.findings if finding.level == "reject"]

    @property
    def warnings(self) -> list[str]:
        return [f"{finding.topic}: {finding.text}" for finding in self.findings if finding.level == "warning"]

    def add(self, topic: str, level: str, text: str) -> None:
        """A finding; the same one twice counts once."""
        finding = Finding(topic, level, " ".join(text.split()))
        if finding not in self.findings:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        findings = [finding._asdict() for finding in self.findings]
        return {"file": self.name, "verdict": self.verdict, "findings": findings, "figures": self.figures}
