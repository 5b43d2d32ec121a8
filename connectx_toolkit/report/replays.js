// The table of games, its filters, and the jumps of the replayer beside it.
const games = JSON.parse(document.getElementById("data").textContent);
const rows = JSON.parse(document.getElementById("rows").textContent);
const form = document.getElementById("filters"), body = document.querySelector("#games tbody");
const lines = [...body.rows];
let order = rows.map((_, index) => index), current = 0, sorted = {column: -1, down: false}, puzzle = -1;
const replayer = new Replayer(document.getElementById("board"), document,
  ply => history.replaceState(null, "", `#${current}.${ply}`), [["N P", "next mistake in all games of the table, previous"],
    ["T", "practise: find the best column of the next mistake"], ["↑ ↓", "previous game, next"]]);

function showGame(index, ply) {
  replayer.show(games[index], ply, rows[index].seat === "first" ? 1 : 2);
}

function fill(select, values) {
  for (const value of [...new Set(values)].sort()) select.add(new Option(value));
}
fill(form.elements.status, rows.map(row => row.status));
fill(form.elements.opponent, rows.map(row => row.opponent));

function isShown(row) {
  return ["result", "status", "seat", "opponent"].every(name => ["", row[name]].includes(form.elements[name].value));
}
function draw() {
  const shown = order.filter(index => isShown(rows[index]));
  body.replaceChildren(...shown.map(index => lines[index]));
  document.getElementById("shown").textContent = `${shown.length} of ${rows.length} games`;
  if (shown.length && !shown.includes(current)) choose(shown[0]);
  else mark();
}
lines.forEach((line, index) => {
  line.dataset.index = index;
  line.tabIndex = 0;
  line.onclick = () => choose(index, true);
  line.onkeydown = event => event.key === "Enter" && choose(index, true);
});
function mark() {
  lines.forEach((line, index) => line.classList.toggle("current", index === current));
}
function choose(index, isClicked = false) {
  const row = rows[index];
  current = index;
  mark();
  document.getElementById("heading").textContent = `${row.game}: ${row.result} against ${row.opponent}`;
  const words = row.mistakes.length === 1 ? "1 mistake" : `${row.mistakes.length} mistakes`;
  const count = row.shortened.length;
  const sooner = count && `${count} ${count === 1 ? "move loses" : "moves lose"} the lost game sooner`;
  const facts = [`moving ${row.seat}`, row.ended, row.cause === row.status ? "" : row.cause, words, sooner];
  document.getElementById("why").textContent = facts.filter(Boolean).join("; ");
  showGame(index, row.status === "played" && row.mistakes.length ? row.mistakes.at(-1).ply : row.plies);
  if (isClicked && innerWidth < 1000) document.getElementById("replayer").scrollIntoView();
}
// All mistakes of the games in the table, in its order: [index of the game, ply].
function mistakes() {
  return [...body.rows].flatMap(line => rows[line.dataset.index].mistakes.map(({ply}) => [Number(line.dataset.index), ply]));
}
// To the next mistake, or the one before, through all games of the table.
function jump(by) {
  const shown = [...body.rows].map(line => Number(line.dataset.index)), all = mistakes(), {cursor} = replayer.board.game;
  const beyond = all.filter(([index, ply]) => by * (shown.indexOf(index) - shown.indexOf(current) || ply - cursor) > 0);
  const found = (beyond.length ? beyond : all).at(by > 0 ? 0 : -1);
  if (!found) {
    replayer.board.say("No mistakes in these games.");
    return;
  }
  if (found[0] !== current) choose(found[0]);
  showGame(...found);
}
// The next of all mistakes in the table, as a puzzle.
function practise() {
  const puzzles = mistakes();
  if (!puzzles.length) return;
  puzzle = (puzzle + 1) % puzzles.length;
  const [index, ply] = puzzles[puzzle];
  if (index !== current) choose(index);
  replayer.board.practise(ply);
}
function neighbour(by) {
  const shown = [...body.rows], place = shown.indexOf(lines[current]) + by;
  if (place < 0 || place >= shown.length) return;
  choose(Number(shown[place].dataset.index));
  shown[place].scrollIntoView({block: "nearest"});
}
for (const head of document.querySelectorAll("#games th")) {
  head.onclick = () => {
    const column = head.cellIndex, text = index => lines[index].cells[column].textContent;
    sorted = {column, down: sorted.column === column && !sorted.down};
    const isNumeric = head.classList.contains("number");
    order.sort((a, b) => (sorted.down ? -1 : 1) *
      (isNumeric ? text(a) - text(b) : text(a).localeCompare(text(b), "en", {numeric: true})));
    draw();
  };
}
form.onchange = draw;
document.getElementById("next").onclick = () => jump(1);
document.getElementById("previous").onclick = () => jump(-1);
document.getElementById("practise").onclick = practise;
document.getElementById("earlier").onclick = () => neighbour(-1);
document.getElementById("later").onclick = () => neighbour(1);
addEventListener("keydown", event => {
  if (event.target.matches("select, input")) return;
  const action = {n: () => jump(1), p: () => jump(-1), t: practise, arrowup: () => neighbour(-1), arrowdown: () => neighbour(1)}[event.key.toLowerCase()];
  if (action) { event.preventDefault(); action(); }
});
function start() {
  const [index, ply] = location.hash ? location.hash.slice(1).split(".").map(Number) : [];
  draw();
  const faulty = order.filter(each => rows[each].mistakes.length);
  choose(index in rows ? index : faulty.find(each => rows[each].result === "lost") ?? faulty[0] ?? 0);
  if (index in rows && ply !== undefined) showGame(index, ply);
}
onhashchange = start;
start();
