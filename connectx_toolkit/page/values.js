// Exact values: what is proven of moves and positions, in numbers and in words.
//
// The value of a move is [low, high], seen by the side that moves; both are scores: 0 draws, a win counts the winner's
// unplayed stones and one more, a loss the negative. null stands for a full column.

import { landing, moverOf, openColumns, play, stonesOf } from "./rules.js";

// 1 a win, 0 a draw, -1 a loss, null not known yet.
export function resultOf(value) {
  const [low, high] = [Math.sign(value[0]), Math.sign(value[1])];
  return low === high ? low : null;
}

export const isExact = value => value[0] === value[1];

const negated = ([low, high]) => [-high, -low];

// Plies that perfect play lasts from a position of this score at this ply, the winning stone included.
export function pliesToEnd(score, ply, cells) {
  if (score === 0) return cells - ply;
  let last = cells + 1 - 2 * Math.abs(score);
  if (Math.abs(last - ply) % 2 === Number(score > 0)) last -= 1;
  return last + 1 - ply;
}

// The value of a position by those of its moves; null where nothing is known.
export function valueOfMoves(values) {
  const known = (values ?? []).filter(value => value !== null);
  if (!known.length) return null;
  return [Math.max(...known.map(value => value[0])), Math.max(...known.map(value => value[1]))];
}

// The columns of the best moves as far as they are proven to be.
export function bestColumns(values) {
  const best = valueOfMoves(values);
  if (best === null || !isExact(best)) return [];
  return values.flatMap((value, column) => value !== null && value[0] === best[0] ? [column] : []);
}

// "wins in 9 plies", "draws" (also of a position, for its mover), "wins in at most 9 plies" or "wins" while the distance is
// not proven, "" while nothing is.
export function wordsOf(value, position) {
  const result = value === null ? null : resultOf(value);
  if (result === null) return "";
  const verb = {1: "wins", 0: "draws", [-1]: "loses"}[result];
  const plies = distanceOf(value, position);
  return plies === null ? verb : `${verb} in ${isExact(value) ? "" : "at most "}${plies} ${plies === 1 ? "ply" : "plies"}`;
}

// Plies to the end of a win or loss, at most if the value is not exact; null of a draw, and where nothing is proven of it.
export function distanceOf(value, position) {
  const result = resultOf(value), bound = result > 0 ? value[0] : value[1];
  if (!result || (Math.abs(bound) === 1 && !isExact(value))) return null;
  return pliesToEnd(bound, stonesOf(position), position.cells.length);
}

// A score as a share of the evaluation bar: 0 to 1, of the first player; a quick win is near its end.
export function shareOf(score, position) {
  const forFirst = moverOf(position) === 1 ? score : -score;
  const most = Math.max(1, Math.floor((position.cells.length + 1) / 2));
  return 0.5 + Math.sign(forFirst) * (0.14 + 0.36 * Math.sqrt(Math.min(1, Math.abs(forFirst) / most)));
}

// The value of a move by what is known of the position before it, or of the one after it.
function valueOfMove(position, column, lookUp) {
  const known = lookUp(position)?.[column];
  if (known && isExact(known)) return known;
  const after = valueOfMoves(lookUp(play(position, column)));
  return after === null ? known ?? null : negated(after);
}

// What a move did to the result: null if that is not proven (yet), else {before, after, lost: 0, 1 or 2, sooner: whether it
// shortens a lost game, best, and the values of the move and of the position: played, whole}.
export function judged(position, column, lookUp) {
  const values = lookUp(position), whole = valueOfMoves(values);
  if (whole === null || landing(position, column) < 0) return null;
  const played = valueOfMove(position, column, lookUp);
  const [before, after] = [resultOf(whole), played === null ? null : resultOf(played)];
  if (before === null || after === null) return null;
  const keeping = openColumns(position).filter(each => values[each] && resultOf(values[each]) === before);
  const best = bestColumns(values);
  const sooner = before < 0 && isExact(whole) && played[1] < whole[0];
  return {before, after, lost: Math.max(0, before - after), sooner, best: best.length ? best : keeping, played, whole};
}
