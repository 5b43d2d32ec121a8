"""The report of the pre-flight on a file."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One line of the report.

    level: "pass"; "note"; "warning": Kaggle accepts the file, but it will lose games; "unknown": this machine lacks
        what is needed to decide; "reject": Kaggle does not accept the file, or it is not what its author meant.
    """

    topic: str
    level: str
    text: str


@dataclass
class Report:
    """The findings about a file; it is accepted if no finding rejects it or leaves the verdict open."""

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
        """Adds a finding, unless the same one is already there."""
        finding = Finding(topic, level, " ".join(text.split()))
        if finding not in self.findings:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        findings = [finding._asdict() for finding in self.findings]
        return {"file": self.name, "verdict": self.verdict, "findings": findings, "figures": self.figures}
