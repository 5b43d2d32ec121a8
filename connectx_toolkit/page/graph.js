// The value over the game: the first player's share at each ply, to look at, click, drag and step through.

import { el, svg } from "./dom.js";

export class Graph {
  // go: called with the ply that was chosen.
  constructor(go) {
    this.slider = el("input", {type: "range", min: "0", step: "1", class: "cx-slider", "aria-label": "ply"});
    this.slider.addEventListener("input", () => go(Number(this.slider.value)));
    this.drawing = svg("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true"});
    this.dots = el("div", {class: "cx-dots", "aria-hidden": "true"});
    this.needle = el("div", {class: "cx-needle"});
    this.element = el("div", {class: "cx-graph"}, this.drawing, this.needle, this.dots, this.slider);
  }

  // shares: by ply, null where nothing is proven; mistakes: {ply: how much was lost}; words: of the ply looked at.
  update({shares, cursor, mistakes, words}) {
    const most = shares.length - 1, at = ply => most ? ply / most : 0;
    this.slider.max = String(most);
    this.slider.value = String(cursor);
    this.slider.setAttribute("aria-valuetext", words);
    const known = shares.flatMap((share, ply) => share === null ? [] : [[1000 * at(ply), 100 - 100 * share]]);
    this.drawing.replaceChildren(...this.runs(shares).flatMap(run => this.area(run, at)),
      svg("line", {class: "cx-middle", x1: 0, x2: 1000, y1: 50, y2: 50}));
    this.element.classList.toggle("cx-empty", !known.length);
    this.needle.style.left = `${100 * at(cursor)}%`;
    this.dots.replaceChildren(...Object.entries(mistakes).filter(([ply]) => shares[ply] !== null).map(([ply, lost]) => {
      const dot = el("i", {class: `cx-dot cx-lost${lost}`});
      dot.style.left = `${100 * at(ply)}%`;
      dot.style.top = `${100 - 100 * shares[ply]}%`;
      return dot;
    }));
  }

  // The plies of which the value is known, in runs without a gap.
  runs(shares) {
    const found = [];
    shares.forEach((share, ply) => {
      if (share === null) return;
      if (ply && shares[ply - 1] !== null) found.at(-1).push([ply, share]);
      else found.push([[ply, share]]);
    });
    return found;
  }

  area(run, at) {
    const points = run.flatMap(([ply, share], index) => {
      const [before, old] = run[index - 1] ?? [ply, share], x = 1000 * at(ply), gap = x - 1000 * at(before);
      const crosses = (old - 0.5) * (share - 0.5) < 0; // the middle, where one side's area ends
      return [...crosses ? [[x - gap * (share - 0.5) / (share - old), 0.5]] : [], [x, share]];
    });
    const path = side => points.map(([x, share]) => `${x} ${100 - 100 * side(share)}`).join("L");
    const shape = side => `M${points[0][0]} 50L${path(side)}L${points.at(-1)[0]} 50Z`;
    return [svg("path", {class: "cx-area cx-p1", d: shape(share => Math.max(share, 0.5))}),
      svg("path", {class: "cx-area cx-p2", d: shape(share => Math.min(share, 0.5))}),
      svg("path", {class: "cx-curve", d: `M${path(share => share)}`})];
  }
}
