// The legend: what the signs on the board, in the list and in the graph mean.

import { el } from "./dom.js";

// [a small picture's class, or the sign itself; what it means].
const SIGNS = [
  ["win 9", "score of a column: this move wins in 9 plies with perfect play (a ply is one stone of either side); ≤ 9: in at most 9"],
  ["cx-frame", "best move"],
  ["?", "mistake: a win became a draw, or a draw became a loss"],
  ["??", "blunder: a win became a loss"],
  ["?!", "a lost game made shorter: another move would have lost later"],
  ["cx-played", "the mistake played next; green circles are the best moves"],
  ["cx-ringed", "threat: a stone here completes a line"],
  ["cx-filled", "strong threat: once all else is full, the opponent has to play below it (zugzwang)"],
  ["cx-edge", "dot at the edge: threats in this row are strong for this side"],
  ["cx-halves", "bar and graph: who is winning, and how soon; circles on the graph are mistakes"],
];
const CLOCK = ["3.9 s", "an agent's time on this move; what exceeds its time a move comes off its overage time"];

// A list that folds; hasClock: whether agents play.
export function legend(hasClock) {
  const picture = sign => sign.startsWith("cx-") ? el("i", {class: `cx-sign ${sign}`}) : el("b", {class: "cx-sign"}, sign);
  return el("details", {class: "cx-legend"}, el("summary", {}, "Legend"),
    el("dl", {class: "cx-keys"}, ...[...SIGNS, ...hasClock ? [CLOCK] : []].flatMap(([sign, words]) =>
      [el("dt", {}, picture(sign)), el("dd", {}, words)])));
}
