// Run a policy without the server: the actions that the server would choose, in plain JavaScript.
//
//   const { Player } = require("./policy.js");
//   const document = await (await fetch(`${url}/v1/agents/${agent}/policy`)).json();
//   const playing = new Player(document).play();
//   const action = playing.act(state);
//
// docs/policy.md describes the format. Nothing but the language is needed. The kind `net` is not here.
"use strict";

const MASK = (1n << 64n) - 1n;

function mix(z) {
  z = (z + 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

// The number in [0, 1) of a step of an episode.
function uniform(seed, episode, step) {
  const bits = mix(mix(mix(BigInt(seed)) ^ BigInt(episode)) ^ BigInt(step));
  return Number(bits >> 11n) * 2 ** -53;
}

const hold = (x, low, high) => Math.min(Math.max(x, low), high);

// One of the actions that are possible in a state, all as likely.
function draw(p, actions, s, u) {
  if (!p.allowed) return Math.floor(u * actions);
  const row = p.allowed[Array.isArray(s) ? 0 : s];
  const possible = row.flatMap((allowed, a) => (allowed ? [a] : []));
  return possible[Math.floor(u * possible.length)];
}

// The policy inside another one: its arrays have names that begin with `inner.`.
function innerOf(p) {
  const found = Object.entries(p).filter(([name]) => name.startsWith("inner."));
  return Object.fromEntries(found.map(([name, value]) => [name.slice("inner.".length), value]));
}

// Each kind: (policy, step, state, memory, u) -> [action, memory]; the memory is null at first.
// With `done`, the action that somebody else did, the memory is the one after that.
const kinds = {
  uniform: (p, t, s, memory, u, done) => [done ?? draw(p, p.actions, s, u), memory],

  markov: (p, t, s, memory, u, done) => [done ?? p.actions[t][s], memory],

  grid(p, t, s, memory, u, done) {
    const g = memory ?? 0;
    const low = p.low[t][s];
    const a = done ?? p.actions[p.offsets[t][s] + hold(g, low, p.high[t][s]) - low];
    const x = hold(p.weights[t][s][a] / p.delta, -1e9, 1e9);
    const whole = Math.floor(x);
    return [a, hold(g + whole + (u < x - whole ? 1 : 0), p.clip[0], p.clip[1])];
  },

  reward(p, t, s, memory, u, done) {
    let [g, j] = memory ?? [0, 0];
    const lowA = p.low_a[t][s], lowB = p.low_b[t][s], highB = p.high_b[t][s];
    const row = (hold(g, lowA, p.high_a[t][s]) - lowA) * (highB - lowB + 1);
    const a = done ?? p.actions[p.offsets[t][s] + row + hold(j, lowB, highB) - lowB];
    g += p.steps_a[t][s][a];
    j += p.steps_b[t][s][a];
    const first = p.thetas_a[t][s][a];
    let second = p.thetas_b[t][s][a];
    if (j >= p.top) [j, second] = [p.top, 0];
    const rest = u < first ? u / first : (u - first) / (1 - first);
    return [a, [g + (u < first ? 1 : 0), j + (rest < second ? 1 : 0)]];
  },

  history(p, t, s, memory, u, done) {
    const [actions, states] = p.sizes;
    const edge = memory ?? 0;
    const keys = p.keys.slice(p.levels[t], p.levels[t + 1]);
    const node = edge === -1 ? -1 : keys.indexOf(edge * states + s);
    if (node === -1) return [done ?? draw(p, actions, s, u), -1];
    const a = done ?? p.choices[p.levels[t] + node];
    return [a, node * actions + a];
  },

  paper(p, t, s, memory, u, done) {
    const totals = memory ?? [0, 0, 0];
    const [zeta, width, offset] = p.scalars;
    let cell = p.choices[t][s];
    const last = cell.length - 1;
    for (let i = 0; i < 3; i++) {
      const total = totals[i] + (i === 0 ? offset : 0);
      cell = cell[hold(Math.floor((total + zeta) / width), 0, last)];
    }
    const a = done ?? cell;
    return [a, totals.map((total, i) => total + p.sums[i][t][s][a])];
  },

  tracked(p, t, s, memory, u, done) {
    const [m, inside] = memory ?? [0, null];
    const place = p.entered[m][s];
    const inner = innerOf(p);
    const [a, after] = kinds[inner.kind](inner, t, place, inside, u, done);
    return [a, [p.memories[place][a], after]];
  },

  mixture(p, t, s, memory, u, done) {
    let [c, inside] = memory ?? [null, null];
    if (c === null && u < p.chance) {
      u = u / p.chance;
      c = 1 + Math.floor(u * p.tables.length);
    } else if (c === null) {
      c = 0;
      u = (u - p.chance) / (1 - p.chance);
    }
    if (c > 0) {
      const explored = p.tables.length ? p.tables[c - 1][t][s] : draw(p, p.actions, s, u);
      return [done ?? explored, [c, inside]];
    }
    const inner = innerOf(p);
    const [a, after] = kinds[inner.kind](inner, t, s, inside, u, done);
    return [a, [c, after]];
  },

  network(p, t, s, memory, u, done) {
    if (done !== undefined) return [done, memory];
    const chances = chancesOf(p, s);
    let total = 0;
    for (let a = 0; a < chances.length; a++) {
      total += chances[a];
      if (u < total) return [a, memory];
    }
    return [chances.length - 1, memory];
  },
};

// The probability of each action, by a network.
function chancesOf(p, s) {
  let x = s.map((value, i) => {
    const low = p.low[i], range = p.high[i] - p.low[i];
    const held = hold(value, low - 4.5 * range, p.high[i] + 4.5 * range);
    return p.scaled ? (2 * (held - low)) / range - 1 : held;
  });
  const bend = p.activation === "tanh" ? Math.tanh : (z) => Math.max(0, z);
  const count = Object.keys(p).filter((name) => name.startsWith("weights.")).length;
  for (let i = 0; i < count; i++) {
    const weights = p[`weights.${i}`];
    x = p[`biases.${i}`].map((bias, k) => x.reduce((sum, v, j) => sum + v * weights[j][k], 0) + bias);
    if (i < count - 1) x = x.map(bend);
  }
  const most = Math.max(...x);
  const weights = x.map((z) => Math.exp(z - most));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / whole);
}

// Another action where the policy's own is not allowed; `u` is the step's second number.
function anotherAction(p, s, u, allowed) {
  const chances = p.kind === "network" ? chancesOf(p, s) : null;
  const weights = allowed.map((a) => (chances ? chances[a] : 1));
  const aim = u * weights.reduce((sum, weight) => sum + weight, 0);
  let total = 0;
  const place = weights.findIndex((weight) => aim < (total += weight));
  return allowed[place === -1 ? allowed.length - 1 : place];
}

// A state as it is sent, as a policy takes it.
function read(space, state) {
  if (space.kind === "discrete") return state;
  if (space.kind === "labels") return space.values.indexOf(state);
  if (!space.bins) return state;
  return space.bins.reduce((index, bins, i) => {
    const low = space.low[i], high = space.high[i];
    const share = (hold(state[i], low, high) - low) / (high - low);
    return index * bins + Math.min(Math.floor(share * bins), bins - 1);
  }, 0);
}

class Playing {
  constructor(document, number) {
    this.document = document;
    this.number = number;
    this.step = 0;
    this.memory = null;
    this.before = null; // the last state, and the memory then
  }

  // The action to do now. With `action` the caller acts itself; `executed` is what was done in the
  // step before, where it was not the answer. The policy goes on from what was done. `allowed` are
  // the actions that are possible now.
  act(state, { action, executed, allowed } = {}) {
    const { actions } = this.document;
    if (executed !== undefined)
      this.memory = this.choose(this.step - 1, this.before.state, this.before.memory, executed)[1];
    this.before = { state, memory: this.memory };
    const [index, memory] = this.choose(this.step, state, this.memory, action, allowed);
    this.memory = memory;
    this.step += 1;
    return actions.kind === "labels" ? actions.values[index] : index;
  }

  choose(step, state, memory, action, allowed) {
    const { policy, states, actions, seed } = this.document;
    const indexOf = (one) => (actions.kind === "labels" ? actions.values.indexOf(one) : one);
    const u = uniform(seed, this.number, step), s = read(states, state);
    const play = (done) => kinds[policy.kind](policy, step, s, memory, u, done);
    if (action !== undefined) return play(indexOf(action));
    const [chosen, after] = play();
    const limit = this.document.allowed?.find((one) => one.state === s)?.actions;
    const possible = allowed?.map(indexOf).filter((a) => !limit || limit.includes(a)).sort((a, b) => a - b);
    if (!possible || possible.includes(chosen)) return [chosen, after];
    return play(anotherAction(policy, s, uniform(seed, this.number, step + 2 ** 32), possible));
  }
}

class Player {
  constructor(document) {
    if (document.generator !== "splitmix64" || !kinds[document.policy.kind])
      throw new Error(`this program cannot run ${document.policy.kind} with ${document.generator}`);
    this.document = document;
  }

  // An episode with a number, which chooses its luck; by default the one the policy was made for.
  play(number = this.document.episode_number) {
    return new Playing(this.document, number);
  }
}

module.exports = { Player, kinds, uniform };
