"use strict";
const games = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
for (const [index, game] of games.entries()) at("game").add(new Option(game.title, index));
function show() {
  const game = games[at("game").value], ply = Number(at("ply").value), heights = Array(game.columns).fill(0);
  at("ply").max = game.moves.length;
  const cells = Array.from({length: game.rows * game.columns}, () => "");
  game.moves.slice(0, ply).forEach((column, index) => {
    const cell = (game.rows - 1 - heights[column]++) * game.columns + column;
    cells[cell] = (index % 2 ? "p2" : "p1") + (index === ply - 1 ? " last" : "");
  });
  if (ply === game.moves.length) for (const cell of game.line) cells[cell] += " line";
  for (const id of ["board", "scores", "numbers"]) at(id).style.gridTemplateColumns = `repeat(${game.columns}, 44px)`;
  at("board").replaceChildren(...cells.map(name => Object.assign(document.createElement("div"), {className: name})));
  const judged = game.judged[ply];
  const best = judged ? Math.max(...judged.scores.filter(score => score !== null)) : null;
  at("scores").replaceChildren(...(judged ? judged.scores : []).map(score => {
    const text = score === null ? "" : score, name = score === best ? "best" : "";
    return Object.assign(document.createElement("span"), {textContent: text, className: name});
  }));
  const number = index => Object.assign(document.createElement("span"), {textContent: index});
  at("numbers").replaceChildren(...heights.map((_, index) => number(index)));
  [at("first").textContent, at("second").textContent] = game.names;
  at("count").textContent = `ply ${ply} of ${game.moves.length}`;
  const next = ply < game.moves.length ? `next: column ${game.moves[ply]}. ` : `${game.ending}. `;
  at("said").textContent = next + (judged ? judged.words : "");
}
function step(by) { at("ply").value = Number(at("ply").value) + by; show(); }
at("back").onclick = () => step(-1);
at("on").onclick = () => step(1);
at("ply").oninput = show;
at("game").onchange = () => { at("ply").value = 0; show(); };
onkeydown = event => {
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (by && !["game", "ply"].includes(event.target.id)) step(by);
};
function follow() {
  const [game, ply] = location.hash.slice(1).split(".").map(Number);
  if (!games.length) return;
  at("game").value = game in games ? game : 0;
  show();
  if (ply) { at("ply").value = ply; show(); }
}
onhashchange = follow;
follow();
