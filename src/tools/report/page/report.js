'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const DOING = [['nothing', 'not begun, or ended'], ['program', 'in the program'], ['turn', 'waits for its turn'],
  ['message', 'send, receive'], ['completion', 'wait, test, probe'], ['collective', 'collective'], ['onesided', 'one-sided'],
  ['file', 'file'], ['other', 'another call']];
const WAYS = ['in a process', 'by shared memory', 'by the network'];

// ---- Words ----
const number = (n) => n.toLocaleString('en-US');
function seconds(s) {
  return s >= 100 ? s.toFixed(0) + ' s' : s >= 1 ? +s.toPrecision(3) + ' s' : s >= 1e-3 ? +(s * 1e3).toPrecision(3) + ' ms'
    : s > 0 ? +(s * 1e6).toPrecision(3) + ' us' : '0';
}
function bytes(b) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (b >= 1024 && i < 4) { b /= 1024; i++; }
  return (i ? +b.toPrecision(3) : b) + ' ' + units[i];
}
const percent = (part, all) => all ? (100 * part / all).toFixed(1) + ' %' : '';

// ---- Elements ----
function make(name, attributes = {}, ...children) {
  const svg = ['svg', 'rect', 'line', 'text', 'path', 'title', 'g'].includes(name);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}
const color = (name) => `var(--${name})`;
/** columns: [title, function of a row, is text]. */
function table(at, columns, rows) {
  if (!rows.length) { $(at).append(make('p', {class: 'hint'}, 'None.')); return; }
  const cell = (tag, column, content) => make(tag, column[2] ? {class: 'text'} : {}, content);
  $(at).append(make('div', {class: 'tables'}, make('table', {},
    make('thead', {}, make('tr', {}, ...columns.map((c) => cell('th', c, c[0])))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...columns.map((c) => cell('td', c, String(c[1](row))))))))));
}
function legend(names) {
  return make('div', {class: 'legend'}, ...names.map(([name, words]) => {
    const mark = make('i');
    mark.style.background = color(name);
    return make('span', {}, mark, words);
  }));
}
function svg(height, label) { return make('svg', {viewBox: `0 0 1000 ${height}`, role: 'img', 'aria-label': label}); }
function rect(x, y, width, height, fill, words) {
  const r = make('rect', {x, y, width: Math.max(width, 0), height: Math.max(height, 0), fill});
  if (words) r.append(make('title', {}, words));
  return r;
}
/** A round number of at least `most` / 4 for lines of a scale. */
function step(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4 || 1));
  return [1, 2, 5, 10].map((f) => f * power).find((s) => s * 4 >= most) || power;
}
/** Lines across with their values; returns the function from value to y. */
function scale(chart, most, words, left = 70, top = 10, bottom = 220) {
  const y = (value) => bottom - (bottom - top) * value / (most || 1);
  for (let v = 0; v <= most * 1.001; v += step(most))
    chart.append(make('line', {class: 'grid', x1: left, x2: 1000, y1: y(v), y2: y(v)}),
      make('text', {x: left - 6, y: y(v) + 4, 'text-anchor': 'end'}, words(v)));
  return y;
}
function below(chart, x, y, words, anchor = 'middle') { chart.append(make('text', {x, y, 'text-anchor': anchor}, words)); }
/** One bar of parts: [name of color, words, value]. */
function bar(at, parts, words) {
  const all = parts.reduce((sum, p) => sum + p[2], 0);
  parts = parts.filter((p) => p[2] > all * 1e-6);
  const chart = svg(36, words);
  let x = 0;
  for (const [name, what, value, told] of parts) {
    const width = 1000 * value / all;
    chart.append(rect(x, 0, width, 36, color(name), `${what}: ${told} (${percent(value, all)})`));
    x += width;
  }
  $(at).append(chart, legend(parts.map(([name, what, value, told]) => [name, `${what}: ${told} (${percent(value, all)})`])));
}

// ---- The run ----
function showRun() {
  const r = data.run;
  $('end').textContent = r.end;
  const hosts = r.hosts.map((h) => `${h[0]}: ${number(h[1])} processes, ${number(h[2])} ranks`).join('; ');
  const rows = [['command', r.command], ['when', new Date(r.when).toLocaleString()], ['took', seconds(r.seconds) +
    `, after ${seconds(r.init)} until MPI_Init had returned`], ['ranks', `${number(r.ranks)} in ${number(r.processes)} processes`],
    ['hosts', hosts], ['settings', r.settings.join(', ') || 'all as by default'], ['library', r.version]];
  for (const [name, words] of rows) $('run').append(make('dt', {}, name), make('dd', {}, words));
  if (r.left.length) {
    $('run').append(make('dt', {}, 'not ended'), make('dd', {}, ...r.left.map((g) =>
      make('div', {}, `${number(g[1])} ${g[0]}: ranks ${g[2]}`))));
  }
  const nav = document.querySelector('nav');
  for (const s of document.querySelectorAll('section')) nav.append(make('a', {href: '#' + s.id}, s.querySelector('h2').textContent));
}
function showFindings() {
  const list = document.querySelector('#findings ol');
  for (const f of data.findings)
    list.append(make('li', {}, make('b', {}, f.title), make('p', {}, f.detail), make('p', {class: 'hint'}, f.advice)));
  if (!data.findings.length) list.replaceWith(make('p', {}, 'Nothing.'));
}

// ---- Time ----
function showTime() {
  const t = data.time;
  bar('time-bar', DOING.map(([name, words], i) => [name, words, t[i], seconds(t[i])]), 'Time of all ranks');
  showRanks();
  showHistogram();
  const all = t.reduce((a, b) => a + b, 0);
  table('worst', [['rank', (r) => number(r[0])], ['process', (r) => number(r[1])], ['program', (r) => seconds(r[2])],
    ['turn', (r) => seconds(r[3])], ['MPI', (r) => seconds(r[4])], ['most of it', (r) => r[5], true]], data.worst);
  table('calls', [['call', (c) => c[0], true], ['what', (c) => DOING[c[1]][1], true], ['calls', (c) => number(c[2])],
    ['bytes', (c) => c[3] ? bytes(c[3]) : ''], ['a call', (c) => c[3] ? bytes(c[3] / c[2]) : ''], ['time', (c) => seconds(c[4])],
    ['of all', (c) => percent(c[4], all)]], data.calls);
  table('places', [['line', (p) => p[0], true], ['call', (p) => p[1], true], ['time', (p) => seconds(p[2])],
    ['of all', (p) => percent(p[2], all)]], data.places);
  table('processes', [['process', (p) => number(p[0])], ['host', (p) => p[1], true], ['ranks', (p) => `${p[2]}-${p[2] + p[3] - 1}`],
    ['program', (p) => percent(p[4], p[4] + p[5] + p[6])], ['MPI', (p) => percent(p[5], p[4] + p[5] + p[6])],
    ['idle', (p) => percent(p[6], p[4] + p[5] + p[6])], ['memory at most', (p) => bytes(p[7])],
    ['unexpected at most', (p) => bytes(p[8])]], data.processes.slice(0, 64));
  if (data.processes.length > 64) $('processes').append(make('p', {class: 'hint'}, `${data.processes.length - 64} more are not shown.`));
}
const PARTS = [['program', 'in the program'], ['turn', 'waits for its turn'], ['collective', 'collectives'], ['message', 'other calls']];
function showRanks() {
  const bins = data.ranks, chart = svg(250, 'Time of each rank');
  const most = Math.max(...bins.map((b) => b[2] + b[3] + b[4] + b[5]), 1e-9);
  const y = scale(chart, most, seconds), width = 930 / bins.length;
  bins.forEach((b, i) => {
    let from = 0;
    const who = b[1] > 1 ? `ranks ${b[0]}-${b[0] + b[1] - 1}, on average` : `rank ${b[0]}`;
    PARTS.forEach(([name, words], k) => {
      const value = b[2 + k];
      chart.append(rect(70 + i * width, y(from + value), Math.max(width - (width > 4 ? 1 : 0), .5), y(from) - y(from + value), color(name),
        `${who}: ${words} ${seconds(value)}`));
      from += value;
    });
  });
  below(chart, 70, 240, 'rank 0', 'start');
  below(chart, 1000, 240, 'rank ' + number(data.run.ranks - 1), 'end');
  $('rank-chart').append(chart, legend(PARTS));
}
function showHistogram() {
  const h = data.histogram, chart = svg(250, 'Ranks by time in MPI');
  const y = scale(chart, Math.max(...h.counts, 1), (v) => number(v)), width = 930 / h.counts.length;
  const at = (i) => h.low + (h.high - h.low) * i / h.counts.length;
  h.counts.forEach((n, i) => chart.append(rect(70 + i * width, y(n), width - 2, y(0) - y(n), color('message'),
    `${number(n)} ranks were in MPI for ${seconds(at(i))} to ${seconds(at(i + 1))}`)));
  below(chart, 70, 240, seconds(h.low), 'start');
  below(chart, 1000, 240, seconds(h.high), 'end');
  $('histogram').append(chart);
}

// ---- Messages ----
function showTalk() {
  const colors = ['message', 'collective', 'other'];
  bar('ways', data.ways.map((w, i) => [colors[i], WAYS[i], w[0], `${number(w[0])} messages, ${bytes(w[1])}`]), 'Messages by way');
  if (!data.ways.some((w) => w[0])) $('ways').replaceChildren('No messages between two ranks.');
  new Matrix(data.matrix);
  const w = data.waited, chart = svg(w.length * 22 + 4, 'Whom others waited for');
  const most = Math.max(...w.map((p) => p[1]), 1e-9);
  w.forEach(([rank, s], i) => {
    chart.append(rect(110, i * 22 + 2, 780 * s / most, 17, color('message'), `rank ${rank}: ${seconds(s)}`));
    below(chart, 104, i * 22 + 15, 'rank ' + number(rank), 'end');
    below(chart, 116 + 780 * s / most, i * 22 + 15, seconds(s), 'start');
  });
  $('waited').append(w.length ? chart : 'No receive that named its source waited long enough to be seen.');
}

/** The communication matrix: cells of blocks of ranks, drawn in a window that zooms and moves. */
class Matrix {
  constructor(m) {
    this.cells = [];
    for (let i = 0; i < m.cells.length; i += 5) this.cells.push(m.cells.slice(i, i + 5));  // from, to, way, messages, bytes
    this.shift = m.shift;
    this.blocks = Math.max(Math.ceil(data.run.ranks / 2 ** m.shift), 1);
    this.way = -1;
    this.what = 4;
    this.canvas = $('matrix');
    this.showAll();
    this.makeControls();
    this.listen();
    this.draw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', () => this.draw());
  }
  showAll() { this.x = this.y = 0; this.size = this.blocks; }
  ranksOf(block) {
    const first = block * 2 ** this.shift, last = Math.min(first + 2 ** this.shift, data.run.ranks) - 1;
    return first === last ? `rank ${number(first)}` : `ranks ${number(first)}-${number(last)}`;
  }
  makeControls() {
    const button = (words, act) => {
      const b = make('button', {type: 'button'}, words);
      b.addEventListener('click', () => { act(b); this.draw(); });
      return b;
    };
    const choice = (words, key, value) => {
      const b = button(words, () => { this[key] = value; });
      b.setAttribute('aria-pressed', this[key] === value);
      b.update = () => b.setAttribute('aria-pressed', this[key] === value);
      return b;
    };
    this.buttons = [choice('bytes', 'what', 4), choice('messages', 'what', 3), choice('all ways', 'way', -1),
      ...WAYS.map((words, i) => choice(words, 'way', i)).filter((_, i) => data.ways[i][0])];
    $('matrix-controls').append(...this.buttons, button('zoom in', () => this.zoom(.5)), button('zoom out', () => this.zoom(2)),
      button('all', () => this.showAll()));
  }
  zoom(factor, atX = .5, atY = .5) {
    const size = Math.min(Math.max(this.size * factor, Math.min(4, this.blocks)), this.blocks);
    this.move(this.x + (this.size - size) * atX, this.y + (this.size - size) * atY, size);
  }
  move(x, y, size = this.size) {
    this.size = size;
    this.x = Math.min(Math.max(x, 0), this.blocks - size);
    this.y = Math.min(Math.max(y, 0), this.blocks - size);
  }
  listen() {
    const c = this.canvas, place = (e) => [e.offsetX / c.clientWidth, e.offsetY / c.clientHeight];
    c.addEventListener('wheel', (e) => { e.preventDefault(); this.zoom(e.deltaY < 0 ? .8 : 1.25, ...place(e)); this.draw(); }, {passive: false});
    let held = null;
    c.addEventListener('pointerdown', (e) => { held = place(e); c.setPointerCapture(e.pointerId); });
    c.addEventListener('pointerup', () => { held = null; });
    c.addEventListener('pointermove', (e) => {
      const [x, y] = place(e);
      if (held) { this.move(this.x + (held[0] - x) * this.size, this.y + (held[1] - y) * this.size); held = [x, y]; this.draw(); }
      this.tell(Math.floor(this.y + y * this.size), Math.floor(this.x + x * this.size));
    });
    c.addEventListener('keydown', (e) => {
      const d = this.size / 8, moves = {ArrowLeft: [-d, 0], ArrowRight: [d, 0], ArrowUp: [0, -d], ArrowDown: [0, d]};
      if (moves[e.key]) this.move(this.x + moves[e.key][0], this.y + moves[e.key][1]);
      else if (e.key === '+') this.zoom(.5); else if (e.key === '-') this.zoom(2); else if (e.key === '0') this.showAll(); else return;
      e.preventDefault();
      this.draw();
    });
  }
  tell(from, to) {
    let messages = 0, sum = 0;
    for (const c of this.cells) if (c[0] === from && c[1] === to && (this.way < 0 || c[2] === this.way)) { messages += c[3]; sum += c[4]; }
    $('matrix-text').textContent = `From ${this.ranksOf(from)} to ${this.ranksOf(to)}: ${number(messages)} messages, ${bytes(sum)}`;
  }
  /** Cells of the window, added up to what the screen shows. */
  shown() {
    const grid = Math.min(Math.ceil(this.size), 256), sums = new Map();
    for (const c of this.cells) {
      if ((this.way >= 0 && c[2] !== this.way)) continue;
      const x = Math.floor((c[1] - this.x) * grid / this.size), y = Math.floor((c[0] - this.y) * grid / this.size);
      if (x >= -1 && y >= -1 && x <= grid && y <= grid) sums.set(y * 1000 + x + 1001, (sums.get(y * 1000 + x + 1001) || 0) + c[this.what]);
    }
    return [grid, sums];
  }
  draw() {
    for (const b of this.buttons) b.update();
    const context = this.canvas.getContext('2d'), pixels = this.canvas.width, style = getComputedStyle(document.body);
    context.fillStyle = style.getPropertyValue('--panel');
    context.fillRect(0, 0, pixels, pixels);
    const [grid, sums] = this.shown(), most = Math.max(...sums.values(), 1), size = pixels / grid;
    const offsetX = this.size <= 256 ? (this.x % 1) * size : 0, offsetY = this.size <= 256 ? (this.y % 1) * size : 0;
    context.fillStyle = style.getPropertyValue('--message');
    for (const [key, value] of sums) {
      const k = key - 1001, y = Math.floor((k + 1) / 1000), x = k - y * 1000;
      context.globalAlpha = .2 + .8 * Math.log1p(value) / Math.log1p(most);
      context.fillRect(x * size + (grid === Math.ceil(this.size) ? 0 : -offsetX), y * size + (grid === Math.ceil(this.size) ? 0 : -offsetY),
        Math.max(size - (size > 6 ? 1 : 0), 3), Math.max(size - (size > 6 ? 1 : 0), 3));
    }
    context.globalAlpha = 1;
    this.drawProcesses(context, pixels, style);
    const last = (v) => Math.min(Math.ceil(v + this.size), this.blocks) - 1;
    $('matrix-text').textContent = `From (left): ${this.ranksOf(Math.floor(this.y))} to ${this.ranksOf(last(this.y))}; ` +
      `to (top): ${this.ranksOf(Math.floor(this.x))} to ${this.ranksOf(last(this.x))}. A lighter point is less; lines are processes.`;
  }
  drawProcesses(context, pixels, style) {
    const p = data.processes;
    if (p.length < 2 || p.length > 128) return;
    context.strokeStyle = style.getPropertyValue('--soft');
    context.lineWidth = 1;
    context.beginPath();
    for (const [, , first] of p) {
      const x = (first / 2 ** this.shift - this.x) * pixels / this.size, y = (first / 2 ** this.shift - this.y) * pixels / this.size;
      if (first && x > 0 && x < pixels) { context.moveTo(x, 0); context.lineTo(x, pixels); }
      if (first && y > 0 && y < pixels) { context.moveTo(0, y); context.lineTo(pixels, y); }
    }
    context.stroke();
  }
}

// ---- Communicators ----
function showCommunicators() {
  const depth = (i) => { const f = data.families[i]; return f.parent < 0 ? 0 : 1 + depth(f.parent); };
  const order = [], add = (parent) => data.families.forEach((f, i) => { if (f.parent === parent && order.length < 500) { order.push(i); add(i); } });
  add(-1);
  table('families', [['made by', (i) => '\u2003'.repeat(depth(i)) + data.families[i].call + (data.families[i].inter ? ' (intercommunicator)' : ''), true],
    ['line', (i) => data.families[i].place, true], ['made', (i) => data.families[i].parent < 0 ? '' : number(data.families[i].made)],
    ['not freed', (i) => data.families[i].parent < 0 ? '' : `${number(data.families[i].left)} of ${number(data.families[i].handles)} handles`],
    ['ranks', (i) => data.families[i].least === data.families[i].most ? number(data.families[i].most)
      : `${number(data.families[i].least)}-${number(data.families[i].most)}`],
    ['map', (i) => [data.families[i].model, data.families[i].encoding, data.families[i].map ? bytes(data.families[i].map) : ''].filter(Boolean).join(', '), true],
    ['collective calls', (i) => number(data.families[i].collectives)], ['bytes', (i) => data.families[i].bytes ? bytes(data.families[i].bytes) : ''],
    ['time', (i) => seconds(data.families[i].seconds)]], order);
  const name = (f) => f.call + (f.place ? ' at ' + f.place : '');
  const rows = order.flatMap((i) => data.families[i].by.map((row) => [name(data.families[i]), ...row]));
  table('collectives', [['communicator', (r) => r[0], true], ['call', (r) => r[1], true], ['calls', (r) => r[2] ? number(r[2]) : ''],
    ['bytes', (r) => r[3] ? bytes(r[3]) : ''], ['time', (r) => r[2] ? seconds(r[4]) : ''], ['algorithms between processes', (r) => r[5], true]], rows);
}

// ---- Memory, time ----
function lines(at, series, most, words, told) {
  const chart = svg(250, told), y = scale(chart, most, words), n = series[0].values.length;
  for (const s of series) {
    const path = s.values.map((v, i) => `${i ? 'L' : 'M'}${(70 + 930 * (i + .5) / n).toFixed(1)} ${y(v).toFixed(1)}`).join('');
    chart.append(make('path', {d: path, fill: 'none', stroke: color(s.color), 'stroke-width': 2}));
  }
  below(chart, 70, 240, '0', 'start');
  below(chart, 1000, 240, seconds(data.run.seconds), 'end');
  $(at).append(chart);
}
function showMemory() {
  const m = data.memory;
  lines('memory-chart', [{color: 'message', values: m.rss}], Math.max(...m.rss, 1), bytes, 'Memory of all processes over time');
  $('memory-text').textContent = m.text;
}
function showTimeline() {
  const t = data.timeline, used = new Set(t.rows.map((r) => [...r[1]]).flat());
  $('legend').append(legend(DOING.filter((d, i) => i && used.has(String(i)))));
  const canvas = $('rows'), columns = t.rows.length ? t.rows[0][1].length : 0, height = Math.max(8, Math.min(22, Math.floor(640 / Math.max(t.rows.length, 1))));
  const draw = () => {
    canvas.width = 70 + columns * 3;
    canvas.height = t.rows.length * height;
    const context = canvas.getContext('2d'), style = getComputedStyle(document.body);
    const colors = DOING.map(([name]) => style.getPropertyValue('--' + name));
    context.font = Math.min(height, 12) + 'px system-ui, sans-serif';
    context.textAlign = 'right';
    t.rows.forEach(([rank, codes], row) => {
      for (let i = 0; i < codes.length; i++) {
        if (codes[i] === '0') continue;
        context.fillStyle = colors[+codes[i]];
        context.fillRect(70 + i * 3, row * height, 3, height - 1);
      }
      context.fillStyle = style.getPropertyValue('--soft');
      if (row % Math.ceil(14 / height) === 0) context.fillText(number(rank), 64, (row + .8) * height);
    });
  };
  draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `What ${t.rows.length} ranks did, from the beginning to ${seconds(data.run.seconds)}`);
  const a = data.activity, chart = svg(150, 'What the threads of all processes did over time'), n = a.program.length;
  ['program', 'mpi', 'idle'].forEach((name, k) => {
    for (let i = 0; i < n; i++) {
      const from = (k > 0 ? a.program[i] : 0) + (k > 1 ? a.mpi[i] : 0), value = a[name][i];
      if (value > 0) chart.append(rect(70 + 930 * i / n, 120 - (from + value) * 1.2, 930 / n + .3, value * 1.2, color(name === 'mpi' ? 'message' : name)));
    }
  });
  below(chart, 64, 12, '100 %', 'end');
  below(chart, 70, 140, '0', 'start');
  below(chart, 1000, 140, seconds(data.run.seconds), 'end');
  $('activity').append(chart, legend([['program', 'in the program'], ['message', 'in MPI'], ['idle', 'idle: no rank could go on']]));
}

showRun();
showFindings();
showTime();
showTalk();
showCommunicators();
showMemory();
showTimeline();
