// Who plays: a card for either side, with the choice of an agent, its clock, and what it tells of its thoughts.

import { el, setText } from "./dom.js";

const OTHER = "\u0000other";

// The options of a choice of agents: groups of names, strongest first, and "another".
function options(agents, chosen, person) {
  const groups = new Map();
  for (const agent of agents) {
    if (!groups.has(agent.group)) groups.set(agent.group, []);
    groups.get(agent.group).push(agent);
  }
  const choice = agent => el("option", {value: agent.name, title: agent.about}, agent.name);
  const known = agents.some(agent => agent.name === chosen);
  return [
    el("option", {value: ""}, person),
    ...[...groups].map(([name, members]) => el("optgroup", {label: name},
      ...members.sort((a, b) => (b.elo ?? -1e9) - (a.elo ?? -1e9)).map(choice))),
    known || !chosen ? null : el("option", {value: chosen}, chosen),
    el("option", {value: OTHER}, "file or other agent …"),
  ];
}

const thousands = count => count >= 1e6 ? `${(count / 1e6).toFixed(1)} M` : count >= 1e4 ? `${Math.round(count / 1e3)} k`
  : String(count);

export class SeatCard {
  // choose: called with an agent's name, or null for a person; other: when something else is to be named.
  constructor(player, choose, other) {
    this.select = el("select", {class: "cx-who", "aria-label": `player ${player}`});
    this.select.addEventListener("change", () => {
      const {value} = this.select;
      this.select.value = this.chosen;
      if (value === OTHER) other();
      else choose(value || null);
    });
    this.name = el("span", {class: "cx-name"});
    this.used = el("span");
    this.left = el("span");
    this.overage = el("span", {class: "cx-overage"}, this.used, this.left);
    this.gauge = el("i", {class: "cx-gauge"});
    this.told = el("div", {class: "cx-told"});
    this.element = el("div", {class: `cx-seat cx-p${player}`},
      el("i", {class: "cx-dot"}), el("div", {class: "cx-person"}, this.select, this.name), this.overage, this.gauge, this.told);
    this.offered = "";
    this.chosen = "";
  }

  // agents: [] where none can be chosen; toMove, won: booleans; thoughts: of the agent's move that is looked at;
  // tells: whether it has told any in this game; first: what the first column is called.
  update({agents, agent, name, toMove, won, thoughts, tells, first}) {
    this.chosen = agent ?? "";
    const offer = `${agents.length} ${this.chosen} ${name}`;
    if (offer !== this.offered) {
      this.offered = offer;
      this.select.replaceChildren(...options(agents, this.chosen, name ?? "You").filter(Boolean));
    }
    this.select.value = this.chosen;
    this.select.hidden = !agents.length;
    this.name.hidden = !this.select.hidden;
    this.name.textContent = name ?? agent ?? "You";
    this.element.classList.toggle("cx-mover", toMove);
    this.element.classList.toggle("cx-winner", won);
    this.told.hidden = !agent && !tells; // room for the whole game, so that nothing jumps where a move has none
    try {
      this.tell(thoughts ?? {}, first);
    } catch { // thoughts are anybody's, and the move counts without them
      this.told.replaceChildren();
    }
  }

  // overage: seconds left, null for a person; used: seconds of the present move, null if it is not thinking.
  tick({overage, used, allowed, state}) {
    this.overage.hidden = overage === null;
    if (overage !== null) {
      const left = Math.max(0, used === null ? overage : overage - Math.max(0, used - allowed));
      const spent = `${state === "loading" ? "loading: " : ""}${used?.toFixed(1)} s`, thinks = used !== null;
      setText(this.used, thinks ? `${spent} (${allowed} s a move, ` : `${allowed} s a move, `);
      setText(this.left, `${left.toFixed(1)} s overage left${thinks ? ")" : ""}`);
    }
    this.element.classList.toggle("cx-thinking", used !== null);
    this.gauge.style.setProperty("--cx-used", used === null ? "0%" : `${Math.min(100, 100 * used / allowed)}%`);
  }

  tell(thoughts, first) {
    const {depth, nodes, score, line, visits, ...others} = thoughts;
    const words = [
      depth !== undefined && `depth ${depth}`, nodes !== undefined && `${thousands(nodes)} nodes`,
      score !== undefined && String(score), line?.length && `expects ${line.map(column => column + first).join(" ")}`,
      ...Object.entries(others).map(([name, value]) => `${name} ${value}`),
    ];
    const said = words.filter(Boolean);
    this.told.title = said.join(", "); // there may be no room for all of it
    this.told.replaceChildren(...said.map(word => el("span", {}, word)));
    if (Array.isArray(visits)) this.told.append(this.visits(visits, first));
  }

  visits(visits, first) {
    const most = Math.max(1, ...visits);
    return el("span", {class: "cx-visits", role: "img", "aria-label": `visits by column: ${visits.join(", ")}`},
      ...visits.map((count, column) => {
        const bar = el("i", {title: `column ${column + first}: ${count} visits`});
        bar.style.height = `${100 * count / most}%`;
        return bar;
      }));
  }
}
