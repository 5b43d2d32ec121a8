
const games = JSON.parse(document.getElementById("data").textContent);
const chooser = document.getElementById("game"), ending = document.getElementById("ending");
let shownGame = 0;
const replayer = new Replayer(document.getElementById("board"), document, ply => history.replaceState(null, "", `#${shownGame}.${ply}`));

// By default where the agents' moves begin, if their scores are known.
function showGame(index, ply = Number(Object.keys(games[index].judged)[0] ?? 0)) {
  const game = games[index];
  shownGame = index;
  chooser.value = String(index);
  ending.textContent = game.note ?? `ending: ${game.ending}`;
  replayer.show(game, ply);
}

function follow() {
  const [index, ply] = location.hash.slice(1).split(".").map(Number);
  if (games.length) showGame(index in games ? index : 0, ply);
}

games.forEach((game, index) => chooser.add(new Option(game.title, String(index))));
chooser.onchange = () => showGame(Number(chooser.value));
onhashchange = follow;
follow();
