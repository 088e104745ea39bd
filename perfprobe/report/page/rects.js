// Rectangles on lanes: what the timeline and the flame graph are made of.

/**
 * @typedef {import("./data.js").Known} Known
 * @typedef {import("./data.js").Place} Place
 * @typedef {import("./data.js").Numbers} Numbers
 * @typedef {{title: string, lanes: number}} Group
 * @typedef {{name: number, place: number, group: number, time: number, calls: number}} Sum
 * @typedef {{name: number, place: number, before: number, after: number}} Change
 */

/** Columns of rectangles, by lane and start. Those of a lane do not overlap. */
export class Rects {
  /**
   * @param {Known} known
   * @param {Record<string, Place>} columns
   * @param {Group[]} groups
   * @param {boolean} gaps whether starts are differences within a lane
   */
  constructor(known, columns, groups, gaps) {
    const empty = new Uint8Array(0);
    /** @param {string} name */
    const column = (name) => (columns[name] ? known.column(columns[name]) : empty);
    this.groups = groups;
    this.lane = column("lane");
    this.size = this.lane.length;
    this.length = column("length");
    this.self = column("self");
    this.before = column("before");
    this.after = column("after");
    this.name = column("name");
    this.inputs = column("inputs");
    this.line = column("line");
    this.kind = column("kind");
    this.source = column("source"); // the number of what caused it, plus one
    const lanes = groups.reduce((sum, group) => sum + group.lanes, 0);
    this.first = new Uint32Array(lanes + 1);
    for (let at = 0; at < this.size; at++) this.first[this.lane[at] + 1] = at + 1;
    for (let lane = 1; lane <= lanes; lane++) this.first[lane] = Math.max(this.first[lane], this.first[lane - 1]);
    this.start = gaps ? this.starts(column("start")) : column("start");
    this.groupOf = new Uint16Array(groups.flatMap(({ lanes: some }, at) => Array(some).fill(at)));
    this.parent = this.parents();
  }

  /** @param {Numbers} gaps */
  starts(gaps) {
    const found = new Float64Array(this.size);
    for (let at = 0; at < this.size; at++) {
      const isFirst = at === 0 || this.lane[at] !== this.lane[at - 1];
      found[at] = isFirst ? gaps[at] : found[at - 1] + gaps[at];
    }
    return found;
  }

  /** The rectangle of the lane above that each one is in, -1 for none. */
  parents() {
    const found = new Int32Array(this.size).fill(-1);
    for (let lane = 1; lane + 1 < this.first.length; lane++) {
      if (this.groupOf[lane] !== this.groupOf[lane - 1]) continue;
      let above = this.first[lane - 1];
      for (let at = this.first[lane]; at < this.first[lane + 1]; at++) {
        while (above + 1 < this.first[lane] && this.start[above + 1] <= this.start[at]) above++;
        const isIn = above < this.first[lane] && this.start[above] <= this.start[at]
          && this.start[at] < this.start[above] + this.length[above];
        if (isIn) found[at] = above;
      }
    }
    return found;
  }

  /**
   * The first rectangle of a lane that may end after this time.
   * @param {number} lane
   * @param {number} time
   */
  from(lane, time) {
    let low = this.first[lane], high = this.first[lane + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, this.first[lane]);
  }

  /**
   * Sums of a span by group, name and line, without what is drawn below each: the most first.
   * @param {number} from
   * @param {number} to
   * @param {(group: Group) => boolean} counts
   * @returns {Sum[]}
   */
  sums(from, to, counts) {
    /** @type {Map<string, Sum>} */
    const found = new Map();
    /** @param {number} at */
    const sumOf = (at) => {
      const [name, place, group] = [this.name[at], this.line[at] - 1, this.groupOf[this.lane[at]]];
      const key = `${group} ${name} ${place}`;
      let sum = found.get(key);
      if (!sum) found.set(key, sum = { name, place, group, time: 0, calls: 0 });
      return sum;
    };
    const counted = this.groups.map(counts);
    for (let at = 0; at < this.size; at++) {
      if (!counted[this.groupOf[this.lane[at]]]) continue;
      const inside = Math.min(this.start[at] + this.length[at], to) - Math.max(this.start[at], from);
      if (inside <= 0) continue;
      const sum = sumOf(at);
      sum.time += inside;
      sum.calls += 1;
      if (this.parent[at] >= 0) sumOf(this.parent[at]).time -= inside;
    }
    return [...found.values()].sort((one, two) => two.time - one.time);
  }

  /**
   * Of two versions: what each name and line has itself in both, the largest change first.
   * @returns {Change[]}
   */
  changes() {
    /** @type {Map<string, Change>} */
    const found = new Map();
    /** @param {number} at @param {number} sign @param {number} from whose times count */
    const add = (at, sign, from) => {
      const [name, place] = [this.name[at], this.line[at] - 1];
      const change = found.get(`${name} ${place}`) ?? { name, place, before: 0, after: 0 };
      change.before += sign * this.before[from];
      change.after += sign * this.after[from];
      found.set(`${name} ${place}`, change);
    };
    for (let at = 0; at < this.size; at++) {
      add(at, 1, at);
      if (this.parent[at] >= 0) add(this.parent[at], -1, at);
    }
    const by = (/** @type {Change} */ each) => Math.abs(each.after - each.before);
    return [...found.values()].sort((one, two) => by(two) - by(one));
  }
}
