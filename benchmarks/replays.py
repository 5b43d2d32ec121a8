"""Fifty replays made by Kaggle's environment, reviewed: are all rows right, and how long does the page take?

python -m benchmarks.replays [--games 50] [--folder runs/replays-benchmark] [--oracle]

Prints, after where it ran: the games with what went wrong in them, the rows of ``evaluate.py analyse --json`` that
differ from how the games were made, and the time of ``evaluate.py analyse --html``, start and compilation included.
--oracle holds every first and last mistake to bitbully's exact scores, too.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.replay_games import TEAM, Made, make_games
from connectx.geometry import STANDARD
from connectx.position import Position
from connectx.score import sign

ROOT = Path(__file__).resolve().parent.parent
SEATS = ("first", "second")


def analysed(folder: Path, *options: str) -> tuple[str, float, float]:
    """Output of ``evaluate.py analyse``, its seconds by the clock, and of processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, str(ROOT / "evaluate.py"), "analyse", str(folder), *options]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return out, time.monotonic() - start, processor


def differences(made: Made, row: Mapping[str, Any]) -> list[str]:
    """What a row says otherwise than the game was made."""
    ending = f"{made.status} of {TEAM if made.failed == made.seat else made.opponent} on ply {made.ply}"
    expected = {
        "opponent": made.opponent,
        "seat": SEATS[made.seat],
        "result": made.result,
        "status": made.status,
        "plies": made.ply,
        "moves": made.moves,
    }
    found = [f"{name}: {row[name]!r}, not {value!r}" for name, value in expected.items() if row[name] != value]
    if abs(row["overage"] - made.overage) > 0.002:  # Kaggle rounds durations to microseconds
        found.append(f"overage: {row['overage']}, not {made.overage}")
    if made.failed is not None and not row["ending"].startswith(ending):
        found.append(f"ending: {row['ending']!r}, not {ending!r}")
    slowest = row["slowest"]
    if slowest and (slowest["ply"] != made.slowest[0] or abs(slowest["seconds"] - made.slowest[1]) > 0.002):
        found.append(f"slowest: {slowest}, not {made.slowest}")
    if not slowest and made.overage:
        found.append("slowest: not known, though it drew on the overage time")
    return found


def mistakes_by_oracle(made: Made) -> list[tuple[int, int, list[int]]]:
    """One's own moves that gave a result away by bitbully: ply, column, best columns."""
    from benchmarks.oracle import scores_of

    found = []
    for ply in range(made.seat, len(made.moves), 2):
        scores = scores_of(Position.from_moves(made.moves[:ply], STANDARD))
        best, played = max(s for s in scores if s is not None), scores[made.moves[ply]] or 0
        if sign(best) != sign(played):
            found.append((ply, made.moves[ply], [column for column, score in enumerate(scores) if score == best]))
    return found


def wrong_rows(games: Sequence[Made], rows: Sequence[Mapping[str, Any]], with_oracle: bool) -> dict[str, list[str]]:
    """By game, what its row has wrong; a game without a row is wrong, too."""
    by_name, wrong = {row["game"]: row for row in rows}, {}
    for made in games:
        name = made.path.name.removeprefix("episode-").removesuffix("-replay.json")
        row = by_name.get(name)
        found = ["it has no row"] if row is None else differences(made, row)
        if row is not None and with_oracle:
            given = [(one["ply"], one["column"], one["best"]) for one in row["mistakes"]]
            if given != (expected := mistakes_by_oracle(made)):
                found.append(f"mistakes: {given}, by bitbully {expected}")
        if found:
            wrong[name] = found
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--folder", type=Path, default=Path("runs/replays-benchmark"))
    parser.add_argument("--oracle", action="store_true")
    options = parser.parse_args()
    print(describe())
    start = time.monotonic()
    games = list(make_games(options.folder, options.games))
    kinds = Counter((made.status, "own" if made.failed == made.seat else "their") for made in games)
    print(f"{len(games)} games in {time.monotonic() - start:.0f} s, results {dict(Counter(m.result for m in games))}")
    print(f"opponents {len({m.opponent for m in games})}, seats {dict(Counter(SEATS[m.seat] for m in games))}")
    print("faults", {f"{who} {kind}": n for (kind, who), n in kinds.items() if kind != "played"})
    out, _, _ = analysed(options.folder, "--json")
    wrong = wrong_rows(games, json.loads(out)["games"], options.oracle)
    print(f"rows that are wrong: {len(wrong)} of {len(games)}")
    for name, found in wrong.items():
        print(f"  {name}: {'; '.join(found)}")
    page = options.folder / "page.html"
    _, seconds, processor = analysed(options.folder, "--html", str(page))
    print(f"page: {seconds:.0f} s by the clock, {processor:.0f} s of processor time, {page.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
