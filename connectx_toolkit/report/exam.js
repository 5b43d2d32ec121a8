// The table of an exam's mistakes, and the replayer beside it.
const games = JSON.parse(document.getElementById("data").textContent);
const lines = [...document.querySelectorAll("#mistakes tbody tr")];
let current = 0;
const replayer = new Replayer(document.getElementById("board"), document, ply => history.replaceState(null, "", `#${current}.${ply}`),
  [["N P", "next mistake of the table, previous"], ["T", "practise: find the best column of this mistake"]]);

function choose(index, ply = games[index].ply) {
  current = index;
  lines.forEach((line, other) => line.classList.toggle("current", other === index));
  document.getElementById("heading").textContent = games[index].title;
  replayer.show(games[index], ply);
}
function jump(by) {
  if (!games.length) return;
  choose((current + by + games.length) % games.length);
  lines[current].scrollIntoView({block: "nearest"});
}
function practise() {
  if (games.length) replayer.board.practise(games[current].ply);
}
lines.forEach((line, index) => {
  line.tabIndex = 0;
  line.onclick = () => choose(index);
  line.onkeydown = event => event.key === "Enter" && choose(index);
});
document.getElementById("next").onclick = () => jump(1);
document.getElementById("previous").onclick = () => jump(-1);
document.getElementById("practise").onclick = practise;
addEventListener("keydown", event => {
  const action = {n: () => jump(1), p: () => jump(-1), t: practise}[event.key.toLowerCase()];
  if (action) { event.preventDefault(); action(); }
});
function start() {
  const [index, ply] = location.hash ? location.hash.slice(1).split(".").map(Number) : [0];
  if (games.length) choose(index in games ? index : 0, index in games ? ply : undefined);
}
onhashchange = start;
start();
