// The board as one component: it shows what goes on at its table, and takes clicks, keys and files. It talks to its host
// by the messages of docs/reference/board-messages.md, and knows nothing else of it.

import { BoardView } from "./boardview.js";
import { askAgent, askGame, askNewGame, showKeys } from "./dialogs.js";
import { button, el, keepingFocus, setText } from "./dom.js";
import { Game } from "./game.js";
import { Graph } from "./graph.js";
import { legend } from "./legend.js";
import { MoveList } from "./movelist.js";
import { PlayedList } from "./played.js";
import { emptyPosition, keyOf, landing, moverOf, openColumns, setUpProblem, stonesOf, threatsIn, withCell, writeColumns }
  from "./rules.js";
import { SeatCard } from "./seats.js";
import { Table } from "./table.js";
import { bestColumns, distanceOf, isExact, resultOf, valueOfMoves, wordsOf } from "./values.js";

const OVERLAYS = [["on", "On"], ["after", "After the game"], ["off", "Off"]];
const PACES = [[0, "none"], [0.5, "0.5 s"], [1, "1 s"], [2, "2 s"], [4, "4 s"]];
const TICK = 100; // milliseconds between two looks at the clock
const PATIENCE = 300; // milliseconds of solving that nobody is told of
const LARGEST_FILE = 16 * 2 ** 20; // bytes, as LARGEST_MESSAGE of connectx_toolkit/board/server.py
const RESULTS = {1: "win", 0: "draw", [-1]: "loss"};

// What a button or a key does, in the order of the buttons. group: where the button is; says: for the list of keys; also:
// another key; replays: whether a board on which nothing is played has it; link: whether it needs an address; now: its
// name and picture while they are others; off and hidden: when the button is.
const ACTIONS = [
  {group: "steps", name: "To the start", picture: "first", key: "Home", replays: true, press: board => board.go(0)},
  {group: "steps", name: "Back", picture: "back", key: "ArrowLeft", replays: true, press: board => board.go(board.game.cursor - 1)},
  {group: "steps", name: "Forward", picture: "forward", key: "ArrowRight", replays: true,
    press: board => board.go(board.game.cursor + 1)},
  {group: "steps", name: "To the end", picture: "last", key: "End", replays: true, press: board => board.go(board.game.moves.length)},
  {group: "steps", name: "Mistake", picture: "next", key: "M", replays: true, word: "Mistake",
    says: "next mistake, before it is played (Shift: previous)", press: (board, shift) => board.goToMistake(shift ? -1 : 1),
    off: (board, moves) => !board.quiz && !moves.some(move => board.isMistake(move))},
  {group: "tools", name: "Practise", picture: "hint", key: "T", says: "next position to practise (board --practise)",
    press: board => board.practiseNext(), hidden: board => !board.puzzles.length},
  {group: "tools", name: "New", picture: "fresh", key: "N", says: "new game", press: board => board.askNew()},
  {group: "tools", name: "Undo", picture: "undo", key: "U", also: "Backspace", says: "undo, back to your last turn",
    press: board => board.undo(), off: board => board.game.cursor === 0},
  {group: "tools", name: "Redo", picture: "redo", key: "R", says: "redo", press: board => board.redo(), off: board => board.game.atEnd},
  {group: "tools", name: "Hint", picture: "hint", key: "H", says: "hint", press: board => board.hint()},
  {group: "tools", name: "Stop", picture: "pause", key: "Space", says: "stop or go on; the agent plays from here",
    press: board => board.pause(), now: board => !board.paused && board.game.atEnd ? null : {name: "Go on", picture: "play"},
    off: board => !board.seats.some(Boolean) || (board.game.isOver && board.game.atEnd)},
  {group: "tools", name: "Set up", picture: "edit", key: "S", says: "set up a position", press: board => board.beginSetUp()},
  {group: "tools", name: "Load", picture: "open", key: "L", says: "load a game", press: board => board.askLoad()},
  {group: "sharing", name: "Copy moves", picture: "copy", key: "C", word: "Copy", replays: true, says: "copy the moves",
    press: board => board.copy()},
  {group: "sharing", name: "Copy link", picture: "link", key: "K", word: "Link", replays: true, link: true,
    says: "copy a link to this position", press: board => board.copyLink()},
  {group: "tools", name: "Swap colours", picture: "flip", key: "F", word: "Swap", says: "swap colours", press: board => board.flip()},
  {key: "O", replays: true, says: "scores: on, after the game, off", press: board => board.nextOverlay()},
  {group: "tools", name: "Keys", picture: "help", key: "?", replays: true, says: "this list", press: board => board.help()},
];
const KEYS = [["0–9", "drop a stone in that column (Tab and Enter reach every column)"], ["← →", "back, forward"],
  ["Home End", "start, end"]]; // of no action with words of its own; the first is not a replayer's

export class Board extends Table {
  // host: {start(receive, online), send(message)}.
  // options: {keys: the element whose keys are ours (the board itself),
  //           replayer: whether nothing can be played, storage: where the game is kept over a reload, if anywhere,
  //           pageKeys: [[keys, what they do]] of the page around it, for the list of keys,
  //           address: whether the page's address tells the position, mine: the player whose mistakes count, if one's,
  //           moved: called with the game after every change}.
  constructor(root, host, options = {}) {
    super(host, options);
    this.root = root;
    this.actions = ACTIONS.filter(({replays, link}) => (replays || !options.replayer) && (!link || options.address || options.replayer));
    this.buttons = new Map(); // by their actions
    this.build();
    this.changed();
    this.listen();
    host.start(message => this.receive(message), online => this.connected(online));
    this.timer = setInterval(() => this.tick(), TICK);
  }

  destroy() {
    clearInterval(this.timer);
    this.stop.abort();
    this.root.replaceChildren();
  }

  // ---- what is on the page

  build() {
    const {replayer} = this.options;
    this.board = new BoardView(column => this.press(column));
    this.graph = new Graph(ply => this.go(ply));
    this.list = new MoveList(ply => this.go(ply));
    this.playedList = new PlayedList(column => this.press(column));
    this.cards = [1, 2].map(player => new SeatCard(player, name => this.sit(player - 1, name),
      () => askAgent(this.root, name => this.host.send({type: "check", agent: name, seat: player - 1}))));
    this.verdict = el("p", {class: "cx-verdict", role: "status"});
    this.working = el("p", {class: "cx-working", "aria-hidden": "true"});
    this.notice = el("p", {class: "cx-notice", role: "alert"});
    const said = el("div", {class: "cx-said"}, this.verdict, this.working, this.notice);
    const bars = [this.bar("go through the game", "steps"), replayer ? null : this.bar("game", "tools", "sharing")];
    this.panel = el("div", {class: "cx-panel"}, ...bars, replayer ? null : said, // buttons stay while the rest grows
      this.graph.element, this.list.element, this.playedList.element, this.choices(), legend(!replayer));
    this.setUpBar = el("div", {class: "cx-setup"});
    this.main = el("div", {class: "cx-main-area"}, el("div", {class: "cx-seats"}, ...this.cards.map(card => card.element)),
      replayer ? said : null, this.setUpBar, this.board.element); // a replayer's panel may lie below the screen
    this.root.classList.add("cx");
    this.root.tabIndex = -1; // a click on the board gives it the keys
    this.root.classList.toggle("cx-replayer", Boolean(replayer));
    this.root.append(el("div", {class: "cx-layout"}, this.main, this.panel));
  }

  bar(label, ...groups) {
    return el("div", {class: `cx-${groups[0]}`, role: "group", "aria-label": label}, ...this.buttonsOf(...groups));
  }

  buttonsOf(...groups) {
    return this.actions.filter(({group}) => groups.includes(group)).map(action => this.makeButton(action, action));
  }

  makeButton(action, {name, picture}) {
    const made = button({...action, name, picture, bare: action.group === "steps" && !action.word, press: () => action.press(this)});
    this.buttons.set(action, made);
    return made;
  }

  choices() {
    this.overlays = OVERLAYS.map(([name, words]) => el("button", {
      type: "button", class: "cx-choice", onclick: () => this.look({overlay: name}), "data-overlay": name,
    }, words));
    this.pace = el("select", {"aria-label": "pause between moves"},
      ...PACES.map(([seconds, words]) => el("option", {value: String(seconds)}, words)));
    this.pace.addEventListener("change", () => this.look({pace: Number(this.pace.value)}));
    this.counting = el("select", {"aria-label": "count columns from"},
      el("option", {value: "0"}, "from 0 (Kaggle)"), el("option", {value: "1"}, "from 1"));
    this.counting.addEventListener("change", () => this.look({first: Number(this.counting.value)}));
    return el("div", {class: "cx-choices"},
      el("div", {class: "cx-scores"}, "scores ",
        el("div", {class: "cx-group", role: "group", "aria-label": "exact scores"}, ...this.overlays)),
      el("label", {}, "columns ", this.counting),
      this.options.replayer ? el("div", {class: "cx-scores"}, ...this.buttonsOf("sharing"))
        : el("label", {class: "cx-pace"}, "pause ", this.pace));
  }

  // ---- what the player does

  press(column) {
    if (this.setUp) this.putStone(column);
    else if (this.quiz) this.answer(column);
    else this.move(column);
  }

  askNew() {
    const {rows, columns, inarow} = this.game.start;
    askNewGame(this.root, {rows, columns, inarow}, this.config, this.agents.length > 0, values => {
      const {rows, columns, inarow, ...clock} = values;
      Object.assign(this.config, clock);
      this.begin(Game.of({rows, columns, inarow}));
    });
  }

  askLoad() {
    const {start: {columns}} = this.game, {first} = this.view;
    this.loading = askGame(this.root, columns, first, text => this.load(text), file => this.loadFile(file));
  }

  async loadFile(file) {
    if (file.size > LARGEST_FILE) this.say(`${file.name} has more than ${LARGEST_FILE >> 20} MiB: it is no replay of one game.`);
    else this.load(await file.text(), file.name);
  }

  copy() {
    const {first} = this.view, text = writeColumns(this.game.moves, first);
    const counted = first ? `, columns counted from ${first}` : "";
    return this.copyText(text, `Moves copied${counted}: ${text || "none yet"}`, `Moves${counted}: ${text}`);
  }

  copyLink() {
    return this.copyText(location.href, this.options.replayer ? "Link copied. It opens this page at this move."
      : "Link copied. It opens here while the board runs; on another machine, paste it into Load.", `Link: ${location.href}`);
  }

  async copyText(text, done, otherwise) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done, true);
    } catch {
      this.say(otherwise, true);
    }
  }

  help() {
    const listed = this.actions.filter(({says}) => says).map(({key, says}) => [key, says]);
    showKeys(this.root, [...KEYS.slice(this.options.replayer ? 1 : 0), ...listed, ...this.options.pageKeys ?? []], this.view.first);
  }

  flip() { this.look({flipped: !this.view.flipped}); }

  nextOverlay() {
    const place = OVERLAYS.findIndex(([name]) => name === this.view.overlay);
    this.look({overlay: OVERLAYS[(place + 1) % OVERLAYS.length][0]});
  }

  look(change) {
    Object.assign(this.view, change);
    this.changed();
  }

  // ---- a position set up stone by stone

  beginSetUp() {
    if (this.setUp || this.options.replayer) return;
    this.stopAsking();
    this.setUp = {position: this.game.shown, stone: "turn"};
    this.changed();
  }

  putStone(column) {
    const {position, stone} = this.setUp;
    const cell = landing(position, column), below = cell < 0 ? column : cell + position.columns;
    if (stone === "0") {
      if (below < position.cells.length) this.setUp.position = withCell(position, below, "0");
    } else if (cell >= 0) {
      this.setUp.position = withCell(position, cell, stone === "turn" ? moverOf(position) : stone);
    }
    this.changed({falls: true});
  }

  endSetUp(taken) {
    const {position} = this.setUp;
    this.setUp = null;
    if (taken) this.begin(new Game(position));
    else this.changed();
  }

  showSetUp() {
    this.setUpBar.hidden = !this.setUp;
    if (!this.setUp) {
      this.setUpBar.replaceChildren();
      return;
    }
    const {position, stone} = this.setUp, problem = setUpProblem(position);
    const pick = (value, words, player) => {
      const made = el("button", {type: "button", class: "cx-choice", onclick: () => {
        this.setUp.stone = value;
        this.changed();
      }}, player ? el("i", {class: `cx-dot cx-p${player}`}) : null, words);
      made.setAttribute("aria-pressed", String(stone === value));
      return made;
    };
    const done = el("button", {type: "button", class: "cx-button cx-main", onclick: () => this.endSetUp(true)}, "Done");
    done.disabled = Boolean(problem);
    const clear = el("button", {type: "button", class: "cx-button", onclick: () => {
      this.setUp.position = emptyPosition(position);
      this.changed();
    }}, "Clear");
    const cancel = el("button", {type: "button", class: "cx-button", onclick: () => this.endSetUp(false)}, "Cancel");
    const stones = el("div", {class: "cx-group", role: "group", "aria-label": "stone to drop"}, pick("turn", "In turns"),
      pick("1", this.side(1), 1), pick("2", this.side(2), 2), pick("0", "Remove"));
    keepingFocus(this.setUpBar, () => this.setUpBar.replaceChildren(stones, clear, cancel, done));
  }

  tick() {
    const {asking} = this, now = performance.now();
    this.cards.forEach((card, seat) => {
      const mine = asking?.seat === seat && asking.since !== null;
      card.tick({overage: this.seats[seat] === null ? null : this.overageOf(seat, mine ? undefined : this.game.cursor),
        used: mine ? (now - asking.since) / 1000 : null, allowed: this.config.actTimeout, state: asking?.state});
    });
    this.showWork(now);
  }

  // ---- showing it all

  changed({falls = false, said = "", keepsHint = false} = {}) {
    if (!keepsHint) this.hinted = null;
    this.falls = falls;
    this.said = said;
    this.notice.textContent = "";
    this.wish();
    this.askPlayed();
    this.show();
    this.think();
    this.tick();
    this.keep();
    this.putLink();
    this.options.moved?.(this.game);
  }

  // Shows what more is proven, once a frame however often it is told.
  refresh() {
    this.drawing ??= requestAnimationFrame(() => {
      this.drawing = null;
      this.show();
    });
  }

  show() {
    const {game} = this;
    this.root.classList.toggle("cx-flipped", this.view.flipped);
    this.root.classList.toggle("cx-plain", !this.shows);
    this.root.classList.toggle("cx-setting", Boolean(this.setUp));
    this.root.classList.toggle("cx-over", this.isOverAt(game.cursor));
    const moves = this.movesMade();
    this.showBoard(moves);
    this.showSetUp();
    this.showSeats();
    this.showSaid(moves);
    this.showGraph(moves);
    this.list.update({moves, cursor: game.cursor, start: game.firstPly});
    this.showPlayed();
    this.showControls(moves);
    this.falls = false;
  }

  showPlayed() {
    const {shown} = this.game, {columns} = shown;
    const moves = this.setUp ? null : this.playedIn.get(keyOf(shown)) ?? null;
    const symmetric = [...shown.cells].every((stone, cell) => stone === shown.cells[cell + columns - 1 - 2 * (cell % columns)]);
    this.playedList.update({moves, first: this.view.first, columns, symmetric});
  }

  showBoard(moves) {
    const {game, setUp} = this, mistake = this.mistakeHere(moves);
    const position = setUp ? setUp.position : game.shown;
    const over = !setUp && this.isOverAt(game.cursor);
    const values = this.shows && !setUp && !over ? this.lookUp(position) : null;
    const hints = this.hinted === keyOf(position) ? bestColumns(this.lookUp(position)) : [];
    const all = Array.from({length: position.columns}, (_, column) => column);
    const open = all.filter(column => setUp ? true : this.mayPress(column));
    const overlaid = this.shows && !setUp;
    this.board.update({
      position, hints, open: setUp ? openColumns(position) : open, first: this.view.first,
      lastCell: setUp ? -1 : game.cellOf(game.cursor), line: setUp ? [] : game.line, moves: this.falls,
      played: mistake?.column ?? null, best: mistake?.verdict.best ?? [],
      mover: setUp && "12".includes(setUp.stone) ? Number(setUp.stone) : moverOf(position),
      chips: all.map(column => this.chip(position, values, column)),
      labels: all.map(column => this.columnLabel(position, values, column)),
      threats: overlaid && !over ? threatsIn(position) : null, ...this.barOf(),
    });
  }

  chip(position, values, column) {
    const {shows, setUp} = this;
    if (!shows || setUp || landing(position, column) < 0 || this.isOverAt(this.game.cursor)) return {kind: "cx-blank"};
    const value = values?.[column] ?? null, known = this.values.get(keyOf(position));
    const result = value === null ? null : resultOf(value);
    if (result === null) return {kind: known?.done || !this.online ? "cx-blank" : "cx-pending", figure: ""};
    const best = bestColumns(values).includes(column) ? " cx-best" : "", distance = distanceOf(value, position);
    const plies = distance === null ? "" : `${isExact(value) ? "" : "≤ "}${distance}`;
    return {kind: `cx-${RESULTS[result]}${best}${plies || !result ? "" : " cx-open-end"}`, word: RESULTS[result],
      figure: result ? plies || "…" : "="};
  }

  columnLabel(position, values, column) {
    const stones = [];
    for (let cell = (position.rows - 1) * position.columns + column; cell >= 0; cell -= position.columns) {
      if (position.cells[cell] !== "0") stones.push(this.side(Number(position.cells[cell])));
    }
    const words = values?.[column] ? wordsOf(values[column], position) : "";
    const full = stones.length === position.rows ? ", full" : "";
    return `column ${column + this.view.first}${words ? `, ${words}` : ""}, ${stones.join(" ") || "empty"}${full}`;
  }

  barOf() {
    const {game, setUp} = this;
    const share = this.shows && !setUp ? this.share(game.cursor) : null;
    return {share, barLabel: share === null ? "not solved" : this.valueWords(game.cursor)};
  }

  showSeats() {
    const {game} = this, over = this.isOverAt(game.cursor);
    this.cards.forEach((card, seat) => {
      const thoughts = [game.cursor, game.cursor - 1].filter(ply => ply > 0)
        .filter(ply => moverOf(game.positions[ply - 1]) - 1 === seat).map(ply => game.notes[ply - 1].thoughts)[0];
      card.update({
        agents: this.agents, agent: this.seats[seat], name: game.names?.[seat] ?? null, first: this.view.first,
        tells: game.notes.some((note, ply) => note.thoughts && moverOf(game.positions[ply]) - 1 === seat),
        toMove: !over && moverOf(game.shown) - 1 === seat, won: over && game.winner === seat + 1, thoughts,
      });
    });
  }

  showSaid(moves) {
    const {game, setUp} = this;
    if (setUp) {
      const problem = setUpProblem(setUp.position);
      this.words = "";
      setText(this.verdict, `Set up a position: ${problem || `${this.side(moverOf(setUp.position))} to move`}`);
      return;
    }
    const parts = [el("strong", {}, this.headline())];
    const last = moves[game.cursor - 1], here = this.mistakeHere(moves);
    if (here && !this.quiz) parts.push(el("span", {class: `cx-blame cx-lost${here.lost}`}, this.blame(here, "plays")));
    else if (last?.lost && !this.quiz) parts.push(el("span", {class: `cx-blame cx-lost${last.lost}`}, this.blame(last, "played")));
    if (this.hinted) parts.push(el("span", {class: "cx-tip"}, this.hintWords()));
    if (this.said) parts.unshift(el("span", {class: "cx-hidden"}, this.said));
    const words = parts.map(part => part.textContent).join("\n"); // a screen reader reads what is put here: put it once
    if (words === this.words) return;
    this.words = words;
    this.verdict.replaceChildren(...parts);
  }

  headline() {
    const {game} = this;
    if (this.quiz) return this.quizWords();
    if (this.isOverAt(game.cursor)) return this.endWords();
    const mover = this.side(moverOf(game.shown));
    if (!this.shows) return `${mover} to move`;
    const words = wordsOf(valueOfMoves(this.lookUp(game.shown)), game.shown);
    const why = this.values.get(keyOf(game.shown))?.why;
    return words ? `${mover} to move, ${words}` : why ? `${mover} to move: ${why}` : `${mover} to move`;
  }

  // The mistake that is made in the position shown, if the game goes on with one.
  mistakeHere(moves) {
    const next = this.setUp ? null : moves[this.game.cursor];
    return next && this.isMistake(next) ? next : null;
  }

  // "Red (my_agent.py) plays column 5 and gives away a win: it loses in 8 plies. Best: column 3 (wins in 9 plies)."
  blame({text, ply, player, verdict}, plays) {
    const names = {1: "win", 0: "draw"}, position = this.game.positions[ply - 1];
    const best = verdict.best.map(column => column + this.view.first).join(" or ");
    return `${this.who(player)} ${plays} column ${text} and gives away a ${names[verdict.before]}: it `
      + `${wordsOf(verdict.played, position)}. Best: column ${best} (${wordsOf(verdict.whole, position)}).`;
  }

  quizWords() {
    const {answer} = this.quiz, {shown} = this.game, {first} = this.view, values = this.lookUp(shown);
    const whole = valueOfMoves(values), result = whole && resultOf(whole), best = bestColumns(values);
    if (answer === null) {
      const asked = {1: "wins", 0: "keeps the draw"}[result] ?? "is best"; // lost, or not solved yet
      const number = this.puzzles.length ? ` ${this.puzzle + 1} of ${this.puzzles.length}` : "";
      return `Practise${number}: ${this.side(moverOf(shown))} to move. Which column ${asked}?`;
    }
    if (!best.length || resultOf(values[answer]) === null) return `Column ${answer + first}. Looking for the best column …`;
    const words = wordsOf(values[answer], shown), isRight = resultOf(values[answer]) === result;
    const better = best.includes(answer) ? "" : ` Best: column ${best.map(column => column + first).join(" or ")} (${wordsOf(whole, shown)}).`;
    return `${isRight ? "Right" : "Wrong"}: column ${answer + first} ${words}.${better}`;
  }

  hintWords() {
    const {shown} = this.game, values = this.lookUp(shown), best = bestColumns(values);
    if (!best.length) return this.online ? "Looking for the best column …" : "No hints while disconnected";
    const words = wordsOf(values[best[0]], shown), names = best.map(column => column + this.view.first).join(" or ");
    return `Hint: column ${names} (${words})`;
  }

  // What is being solved or waited for; it ticks, so that no screen reader is told.
  showWork(now) {
    const {game, online} = this, known = this.values.get(keyOf(game.shown));
    const open = this.wished && !this.isOverAt(game.cursor) && !known?.done && now - this.wishedAt > PATIENCE;
    const seconds = Math.floor((now - this.wishedAt) / 1000);
    const solving = online && (this.shows || this.hinted) && open ? `solving … ${seconds ? `${seconds} s` : ""}` : "";
    const lost = !online && this.welcomed ? "Connection lost. You can still play, without agents and scores. The page "
      + "reconnects if its board still runs. One that was started again is at another address: paste this one into its Load." : "";
    const waits = !this.asking && this.seats[moverOf(game.shown) - 1] !== null && !game.isOver && !lost
      ? `${this.nameOf(moverOf(game.shown) - 1)} waits: press Space to let it play from here` : "";
    setText(this.working, lost || waits || solving);
    this.working.classList.toggle("cx-busy", Boolean(solving) && !lost && !waits);
  }

  showGraph(moves) {
    const {game} = this;
    const shares = game.positions.map((_, ply) => this.shows ? this.share(ply) : null);
    const mistakes = Object.fromEntries(moves.filter(move => move.lost).map(move => [move.ply, move.lost]));
    const words = `move ${game.cursor} of ${game.moves.length}. ${this.shows ? this.valueWords(game.cursor) : ""}`;
    this.graph.update({shares, cursor: game.cursor, mistakes, words});
  }

  showControls(moves) {
    const {game} = this;
    for (const made of this.overlays) {
      made.setAttribute("aria-pressed", String(made.dataset.overlay === this.view.overlay));
    }
    this.pace.value = String(this.view.pace);
    this.counting.value = String(this.view.first);
    for (const [action, shown] of this.buttons) {
      const form = action.now?.(this) ?? action;
      if (shown.getAttribute("aria-label") !== form.name) {
        keepingFocus(shown.parentElement, () => shown.replaceWith(this.makeButton(action, form)));
      }
      const made = this.buttons.get(action);
      made.disabled = Boolean(action.off?.(this, moves));
      made.hidden = Boolean(action.hidden?.(this));
    }
    if (this.options.replayer) return;
    this.root.classList.toggle("cx-watching", this.seats.every(Boolean));
  }

  say(text, isDone = false) {
    const notice = this.loading?.open ? this.loading.querySelector(".cx-notice") : this.notice; // beside what is wrong
    notice.textContent = text;
    notice.classList.toggle("cx-done", isDone);
  }

  // ---- keys, and files that are dropped

  listen() {
    this.stop = new AbortController();
    const {signal} = this.stop, keys = this.options.keys ?? this.root;
    keys.addEventListener("keydown", event => this.key(event), {signal});
    addEventListener("hashchange", () => this.link && this.followLink(this.link), {signal});
    document.addEventListener("visibilitychange", () => this.wish(), {signal}); // nothing is solved for nobody
    this.root.addEventListener("dragover", event => {
      event.preventDefault();
      this.root.classList.add("cx-dropping");
    }, {signal});
    this.root.addEventListener("dragleave", event => {
      if (!this.root.contains(event.relatedTarget)) this.root.classList.remove("cx-dropping");
    }, {signal});
    this.root.addEventListener("drop", event => this.dropped(event), {signal});
  }

  dropped(event) {
    event.preventDefault();
    this.root.classList.remove("cx-dropping");
    const [file] = event.dataTransfer.files;
    if (file && !this.options.replayer) this.loadFile(file);
  }

  key(event) {
    const {key, target} = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog, input:not([type=range]), textarea, select")) return;
    if (target.type === "range" && key.startsWith("Arrow")) return; // the slider steps by itself
    if (key === " " && target.closest?.("button")) return; // which it presses
    const act = this.actionOf(key, event.shiftKey);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  actionOf(key, shift) {
    const {replayer} = this.options;
    if (/^[0-9]$/.test(key)) {
      const column = Number(key) - this.view.first;
      return column >= 0 && column < this.game.start.columns && (this.quiz || !replayer) ? () => this.press(column) : null;
    }
    if (key === "Escape") return this.setUp ? () => this.endSetUp(false) : null;
    const name = key === " " ? "Space" : key.length === 1 ? key.toUpperCase() : key;
    const action = this.actions.find(each => each.key === name || each.also === name);
    return action ? () => action.press(this, shift) : null;
  }
}
