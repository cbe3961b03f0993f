'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);
const DOING = [['nothing', 'not begun, or ended'], ['program', 'in the program'], ['turn', 'waits for its turn'],
  ['message', 'send, receive'], ['completion', 'wait, test, probe'], ['collective', 'collective'], ['onesided', 'one-sided'],
  ['file', 'file'], ['other', 'another call']];
const predicted = data.run.predicted;  // the machine of mpiexec -predict, or null
const WAYS = predicted ? ['within a node', '', 'between nodes', 'one-sided'] : ['in a process', 'by shared memory', 'by the network', 'one-sided'];

// ---- Words ----
const number = (n) => n.toLocaleString('en-US');
function seconds(s) {
  return s >= 99.95 ? number(Math.round(s)) + ' s' : s >= 1 ? +s.toPrecision(3) + ' s' : s >= 1e-3 ? +(s * 1e3).toPrecision(3) + ' ms'
    : s > 0 ? +(s * 1e6).toPrecision(3) + ' us' : '0';
}
function bytes(b) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (b >= 1024 && i < 4) { b /= 1024; i++; }
  return (i ? +b.toPrecision(3) : +b.toFixed(1)) + ' ' + units[i];
}
const many = (n, what, plural) => `${number(n)} ${n === 1 ? what : plural}`;
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
/** columns: [title, function of a row, is text]; those without a word in any row are left out. */
function table(at, columns, rows) {
  if (!rows.length) { $(at).append(make('p', {class: 'hint'}, 'None.')); return; }
  columns = columns.filter((c) => rows.some((row) => String(c[1](row)) !== ''));
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
/** Draws now, and whenever the width of the place has changed; `draw` is given that. */
const drawings = [];
function drawn(place, draw) {
  let width = 0;
  const again = (changed) => {
    if (changed && place.clientWidth === width) return;
    width = place.clientWidth;
    draw(width || 1000);
  };
  drawings.push(() => again(false));
  again(false);
  new ResizeObserver(() => again(true)).observe(place);
}
/** A chart as wide as its place, so that its words have the size of others: fill(svg, width). */
function chart(at, height, label, fill) {
  const e = make('svg', {role: 'img', 'aria-label': label});
  $(at).append(e);
  drawn($(at), (width) => {
    e.setAttribute('viewBox', `0 0 ${width} ${height}`);
    e.replaceChildren();
    fill(e, width);
  });
}
function rect(x, y, width, height, fill, words) {
  const r = make('rect', {x, y, width: Math.max(width, 0), height: Math.max(height, 0), fill});
  if (words) r.append(make('title', {}, words));
  return r;
}
const LEFT = 70;  // of what a scale stands beside
/** An axis of d3; of ticks whose words are the same only the first. */
function axis(chart, made, ticks, words, x, y) {
  const told = ticks.map(words);
  d3.select(chart).append('g').attr('class', 'axis').attr('transform', `translate(${x},${y})`)
    .call(made.tickValues(ticks.filter((_, i) => told.indexOf(told[i]) === i)).tickFormat(words).tickSizeOuter(0));
}
/** Values at the left, with lines across; returns the function from value to y. Ticks of bytes are at powers of two. */
function scale(chart, width, most, words, top = 10, bottom = 220) {
  const y = d3.scaleLinear().domain([0, most || 1]).range([bottom, top]);
  const ticks = words === bytes ? d3.range(0, most * 1.001, 2 ** Math.ceil(Math.log2(Math.max(most / 4, 1))))
    : y.ticks(4).filter((v) => words !== number || Number.isInteger(v));
  axis(chart, d3.axisLeft(y).tickSizeInner(LEFT - width).tickPadding(6), ticks, (v) => v ? words(v) : '0', LEFT, 0);
  return y;
}
/** Below a chart: ticks that are not cut off at its right end, nor lie on what stands left of them. `x`: a scale whose range is the chart's. */
function below(chart, width, x, words, integers = false, y = 222) {
  const room = 8 + 3.5 * Math.max(...x.domain().map((v) => words(v).length));
  const ticks = x.ticks(Math.max(Math.floor(width / 120), 2)).filter((v) => x(v) <= width - room && (!integers || Number.isInteger(v))
    && x(v) - 3.5 * words(v).length >= LEFT - 8);
  axis(chart, d3.axisBottom(x).tickSizeInner(4), ticks, words, 0, y);
}
const across = (domain, width) => d3.scaleLinear().domain(domain).range([LEFT, width]);
const overTime = (chart, width, y) => below(chart, width, across([0, data.run.seconds || 1], width), (s) => s ? seconds(s) : '0', false, y);
/** Each rank has an equal part of the width; its number stands at the middle of that. */
function overRanks(chart, width) {
  below(chart, width, across([-.5, Math.max(data.run.ranks, 1) - .5], width), number, true);
  label(chart, LEFT - 12, 237, 'rank', 'end');
}
function label(chart, x, y, words, anchor = 'middle') { chart.append(make('text', {x, y, 'text-anchor': anchor}, words)); }
/** One bar of parts: [name of color, words, value]. */
function bar(at, parts, words) {
  const all = parts.reduce((sum, p) => sum + p[2], 0);
  parts = parts.filter((p) => p[2] > all * 1e-6).map(([name, what, value, told]) => [name, `${what}: ${told} (${percent(value, all)})`, value]);
  if (!parts.length) return;
  chart(at, 36, words, (e, width) => {
    let x = 0;
    for (const [name, what, value] of parts) {
      e.append(rect(x, 0, width * value / all, 36, color(name), what));
      x += width * value / all;
    }
  });
  $(at).append(legend(parts));
}

// ---- The run ----
function showRun() {
  const r = data.run;
  $('end').textContent = r.end;
  if (predicted) {
    // What is of this machine has no place among predicted times.
    for (const e of document.querySelectorAll('.here')) e.remove();
    document.querySelector('h1').textContent = document.title = `What the run would do on ${predicted.machine}`;
  }
  const hosts = r.hosts.map((h) => `${h[0]}: ${many(h[1], 'process', 'processes')}, ${many(h[2], 'rank', 'ranks')}`).join('; ');
  const times = predicted ? [['would take', seconds(r.seconds)], ['ranks', number(r.ranks)],
    ['machine', `${predicted.machine}, ${many(predicted.nodes, 'node', 'nodes')}`]]
    : [['took', `${seconds(r.seconds)}, after ${seconds(r.init)} until MPI_Init had returned`],
      ['ranks', `${number(r.ranks)} in ${many(r.processes, 'process', 'processes')}`], ['hosts', hosts]];
  const rows = [['command', r.command], ['when', new Date(r.when).toLocaleString()], ...times, ['settings', r.settings.join(', ') || 'all as by default'], ['library', r.version]];
  for (const [name, words] of rows) $('run').append(make('dt', {}, name), make('dd', {}, words));
  if (r.left.length) {
    $('run').append(make('dt', {}, 'not ended'), make('dd', {}, ...r.left.map((g) =>
      make('div', {}, `${number(g[1])} ${g[0]}: ${g[1] === 1 ? 'rank' : 'ranks'} ${g[2]}`))));
  }
  $('looks').textContent = predicted ? `those of the ranks' clocks on ${predicted.machine}.`
    : `sampled, in ${many(r.looks, 'look', 'looks')}` + (r.each < r.looks ? `, ${number(r.each)} at each rank.` : '.');
  const nav = document.querySelector('nav');
  for (const s of document.querySelectorAll('section')) nav.append(make('a', {href: '#' + s.id}, s.querySelector('h2').textContent));
}
function showFindings() {
  const list = document.querySelector('#findings ol');
  for (const f of data.findings)
    list.append(make('li', {}, make('b', {}, f.title), make('p', {}, f.detail), make('p', {class: 'hint'}, f.advice)));
  if (!data.findings.length) list.replaceWith(make('p', {}, 'Nothing.'));
  if (data.run.care) document.querySelector('#findings').append(make('p', {}, data.run.care));
}

// ---- Time ----
function showTime() {
  const t = data.time;
  bar('time-bar', DOING.map(([name, words], i) => [name, words, t[i], seconds(t[i])]), 'Time of all ranks');
  showRanks();
  showHistogram();
  const all = t.reduce((a, b) => a + b, 0);
  table('worst', [['rank', (r) => number(r[0])], ['most of its time in', (r) => r[5], true], [predicted ? 'node' : 'process', (r) => number(r[1])], ['in the program', (r) => seconds(r[2])],
    ['waits for its turn', (r) => predicted ? '' : seconds(r[3])], ['in MPI', (r) => seconds(r[4])]], data.worst);
  table('calls', [['call', (c) => c[0], true], ['what', (c) => DOING[c[1]][1], true], ['calls', (c) => number(c[2])],
    ['bytes', (c) => c[3] ? bytes(c[3]) : ''], ['bytes a call', (c) => c[3] ? bytes(c[3] / c[2]) : ''], ['time', (c) => seconds(c[4])],
    ['of all', (c) => percent(c[4], all)]], data.calls);
  table('places', [['line', (p) => p[0], true], ['call', (p) => p[1], true], ['time', (p) => seconds(p[2])],
    ['of all', (p) => percent(p[2], all)]], data.places);
  if (!predicted) showProcesses();
}
function showProcesses() {
  table('processes', [['process', (p) => number(p[0])], ['host', (p) => p[1], true], ['ranks', (p) => `${p[2]}-${p[2] + p[3] - 1}`],
    ['program', (p) => percent(p[4], p[4] + p[5] + p[6])], ['MPI', (p) => percent(p[5], p[4] + p[5] + p[6])],
    ['idle', (p) => percent(p[6], p[4] + p[5] + p[6])], ['memory at most', (p) => bytes(p[7])],
    ['unexpected at most', (p) => bytes(p[8])]], data.processes.slice(0, 64));
  if (data.processes.length > 64) $('processes').append(make('p', {class: 'hint'}, `${data.processes.length - 64} more are not shown.`));
}
const PARTS = [['program', 'in the program'], ['turn', 'waits for its turn'], ['collective', 'collectives'], ['message', 'other calls']];
function showRanks() {
  if (!data.ranks.some((b) => b[2] + b[3] + b[4] + b[5])) { $('rank-chart').append('No rank was looked at.'); return; }
  const bins = data.ranks, most = Math.max(...bins.map((b) => b[2] + b[3] + b[4] + b[5]), 1e-9);
  const layers = d3.stack().keys(PARTS.map((_, k) => 2 + k))(bins);
  chart('rank-chart', 250, 'Time of each rank', (e, width) => {
    const y = scale(e, width, most, seconds), each = (width - LEFT) / bins.length;
    layers.forEach((layer, k) => layer.forEach(([from, to], i) => {
      const [first, count] = bins[i], who = count > 1 ? `ranks ${number(first)}-${number(first + count - 1)}, on average` : `rank ${number(first)}`;
      e.append(rect(LEFT + i * each, y(to), each - (each > 4 ? 1 : 0), y(from) - y(to), color(PARTS[k][0]), `${who}: ${PARTS[k][1]} ${seconds(to - from)}`));
    }));
    overRanks(e, width);
  });
  $('rank-chart').append(legend(PARTS.filter((p) => !predicted || p[0] !== 'turn')));
}
function showHistogram() {
  if (!data.histogram.high) { $('histogram').append('No rank was looked at in MPI.'); return; }
  const h = data.histogram, at = (i) => h.low + (h.high - h.low) * i / h.counts.length;
  chart('histogram', 250, 'Ranks by time in MPI', (e, width) => {
    const y = scale(e, width, Math.max(...h.counts, 1), number), each = (width - LEFT) / h.counts.length;
    h.counts.forEach((n, i) => e.append(rect(LEFT + i * each, y(n), Math.max(each - 2, 1), y(0) - y(n), color('message'),
      `${number(n)} ranks were in MPI for ${seconds(at(i))} to ${seconds(at(i + 1))}`)));
    label(e, LEFT - 12, 237, 'time', 'end');
    if (h.high > h.low) below(e, width, across([h.low, h.high], width), seconds);
    else label(e, (LEFT + width) / 2, 240, seconds(h.low));
  });
}

// ---- Messages ----
function showTalk() {
  const colors = ['message', 'collective', 'other', 'onesided'];
  bar('ways', data.ways.map((w, i) => [colors[i], WAYS[i], w[0], `${number(w[0])} ${i < 3 ? 'messages' : 'operations'}, ${bytes(w[1])}`]), 'Messages by way');
  if (!data.ways.some((w) => w[0])) $('ways').replaceChildren('No messages between two ranks.');
  const [read, written, inFiles, oneSided] = data.files;
  if (oneSided) $('ways').append(make('p', {}, `Ranks were in one-sided calls for ${seconds(oneSided)}.`));
  if (read || written) $('ways').append(make('p', {}, `Files: ${bytes(read)} read, ${bytes(written)} written, in ${seconds(inFiles)} of ranks' time.`));
  const matrix = new Matrix(data.matrix);
  table('pairs', [['from', (c) => matrix.ranksOf(c[0]), true], ['to', (c) => matrix.ranksOf(c[1]), true], ['way', (c) => WAYS[c[2]], true],
    ['messages', (c) => number(c[3])], ['bytes', (c) => bytes(c[4])]], [...matrix.cells].sort((a, b) => b[4] - a[4] || b[3] - a[3]).slice(0, 10));
  const w = data.waited, most = Math.max(...w.map((p) => p[1]), 1e-9);
  if (!w.length) $('waited').append('No wait that was for one rank lasted long enough to be seen.');
  else chart('waited', w.length * 22 + 4, 'Whom others waited for', (e, width) => w.forEach(([rank, s], i) => {
    const long = Math.max(width - 190, 20) * s / most;
    e.append(rect(110, i * 22 + 2, long, 17, color('message'), `rank ${number(rank)}: ${seconds(s)}`));
    label(e, 104, i * 22 + 15, 'rank ' + number(rank), 'end');
    label(e, 116 + long, i * 22 + 15, seconds(s), 'start');
  }));
}

const AXIS = 58, TOP = 22;  // of the matrix: where the numbers of ranks stand
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
    drawn(this.canvas.parentElement, () => this.draw());
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
    const c = this.canvas, part = (v) => Math.min(Math.max(v / this.side, 0), .9999);
    const place = (e) => [part(e.offsetX - AXIS), part(e.offsetY - TOP)];
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
  /** Cells of the window, added up to what the screen shows: by number, row by row of a grid. */
  shown() {
    const grid = this.size <= 256 ? this.size : 256, sums = new Map();
    const at = (block, first) => this.size <= 256 ? block - first : Math.floor((block - first) * 256 / this.size);
    for (const c of this.cells) {
      if (this.way >= 0 && c[2] !== this.way) continue;
      const x = at(c[1], this.x), y = at(c[0], this.y);
      if (x <= -1 || y <= -1 || x >= grid || y >= grid) continue;
      const key = x + ' ' + y, sum = sums.get(key) || [x, y, 0];
      sum[2] += c[this.what];
      sums.set(key, sum);
    }
    return [this.side / grid, [...sums.values()]];
  }
  draw() {
    for (const b of this.buttons) b.update();
    const c = this.canvas, width = Math.min(c.parentElement.clientWidth || 640, 700), scale = devicePixelRatio || 1;
    this.side = width - AXIS - 4;
    c.width = width * scale;
    c.height = (this.side + TOP + 2) * scale;
    c.style.width = width + 'px';
    const context = c.getContext('2d'), style = getComputedStyle(document.body);
    context.scale(scale, scale);
    this.drawAxes(context, style);
    context.translate(AXIS, TOP);
    context.fillStyle = style.getPropertyValue('--panel');
    context.fillRect(0, 0, this.side, this.side);
    context.beginPath();
    context.rect(0, 0, this.side, this.side);
    context.clip();
    const [each, sums] = this.shown(), most = Math.max(...sums.map((s) => s[2]), 1), wide = Math.max(each - (each > 6 ? 1 : 0), 2);
    context.fillStyle = style.getPropertyValue('--message');
    for (const [x, y, value] of sums) {
      if (!value) continue;
      context.globalAlpha = .2 + .8 * Math.log1p(value) / Math.log1p(most);
      context.fillRect(x * each, y * each, wide, wide);
    }
    context.globalAlpha = 1;
    this.drawProcesses(context, style);
    const last = (v) => Math.min(Math.ceil(v + this.size), this.blocks) - 1;
    $('matrix-text').textContent = `From (left): ${this.ranksOf(Math.floor(this.y))} to ${this.ranksOf(last(this.y))}; ` +
      `to (top): ${this.ranksOf(Math.floor(this.x))} to ${this.ranksOf(last(this.x))}. A lighter point is less` +
      (data.processes.length > 1 ? '; lines are processes.' : '.');
  }
  /** The numbers of some ranks, so many that they do not overlap. */
  drawAxes(context, style) {
    context.fillStyle = style.getPropertyValue('--soft');
    context.font = '12px system-ui, sans-serif';
    const each = this.side / this.size, apart = Math.max(Math.ceil((number(data.run.ranks).length * 7 + 16) / each), 1);
    for (let i = Math.ceil(this.x); i < this.x + this.size; i += apart) {
      context.textAlign = each > 20 ? 'center' : 'left';
      const x = (i - this.x + (each > 20 ? .5 : 0)) * each;
      if (x < this.side - 20) context.fillText(number(i * 2 ** this.shift), AXIS + x, TOP - 6);
    }
    context.textAlign = 'right';
    const down = Math.max(Math.ceil(28 / each), 1);
    for (let i = Math.ceil(this.y); i < this.y + this.size; i += down) {
      const y = (i - this.y) * each + (each > 20 ? each / 2 + 4 : 10);
      if (y < this.side) context.fillText(number(i * 2 ** this.shift), AXIS - 6, TOP + y);
    }
  }
  drawProcesses(context, style) {
    const p = data.processes;
    if (p.length < 2 || p.length > 128) return;
    context.strokeStyle = style.getPropertyValue('--soft');
    context.lineWidth = 1;
    // Lines that are close together would hide what lies between them.
    context.globalAlpha = Math.min(this.side * this.blocks / this.size / p.length / 40, 1);
    context.beginPath();
    for (const [, , first] of p) {
      const at = (start) => (first / 2 ** this.shift - start) * this.side / this.size, x = at(this.x), y = at(this.y);
      if (first) { context.moveTo(x, 0); context.lineTo(x, this.side); context.moveTo(0, y); context.lineTo(this.side, y); }
    }
    context.stroke();
    context.globalAlpha = 1;
  }
}

// ---- Communicators ----
function showCommunicators() {
  const depth = (i) => { const f = data.families[i]; return f.parent < 0 ? 0 : 1 + depth(f.parent); };
  const span = (from, to) => from < 0 ? '' : seconds(from) === seconds(to) ? seconds(from) : `${seconds(from)} to\n${seconds(to)}`;
  const order = [], add = (parent) => data.families.forEach((f, i) => { if (f.parent === parent && order.length < 500) { order.push(i); add(i); } });
  add(-1);
  table('families', [['made by', (i) => '\u2003'.repeat(depth(i)) + data.families[i].call + (data.families[i].inter ? ' (intercommunicator)' : ''), true],
    ['line', (i) => data.families[i].place, true], ['made', (i) => data.families[i].parent < 0 ? '' : number(data.families[i].made)],
    ['made at', (i) => span(data.families[i].when[0], data.families[i].when[1])],
    ['freed at', (i) => span(data.families[i].when[2], data.families[i].when[3])],
    ['lived on average', (i) => data.families[i].when[4] < 0 ? '' : seconds(data.families[i].when[4])],
    ['handles not freed', (i) => data.families[i].parent < 0 ? '' : `${number(data.families[i].left)} of ${number(data.families[i].handles)}`],
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
/** Lines over the time of the run; of each series: color, values. */
function lines(at, series, words, told) {
  const most = Math.max(...series.flatMap((s) => s.values), 1);
  chart(at, 250, told, (e, width) => {
    const y = scale(e, width, most, words);
    for (const s of series) {
      const x = across([0, s.values.length], width);
      e.append(make('path', {d: d3.line().x((_, i) => x(i + .5)).y(y)(s.values) || '', fill: 'none', stroke: color(s.color), 'stroke-width': 2}));
    }
    overTime(e, width);
  });
}
function showMemory() {
  lines('memory-chart', [{color: 'message', values: data.memory.rss}], bytes, 'Memory of all processes over time');
  const m = data.memory, colors = ['message', 'collective', 'program', 'onesided', 'other', 'file', 'completion', 'turn'];
  const ranks = new Map(data.processes.map((p) => [p[0], [p[3], p[7]]]));
  lines('memory-each', m.each.map((p, i) => ({color: colors[i], values: p[1]})), bytes, 'Memory of each process over time');
  $('memory-each').append(legend(m.each.map(([process], i) => {
    const [count, most] = ranks.get(process) || [0, 0];
    return [colors[i], `process ${number(process)}` + (count ? `: at most ${bytes(most)}, ${bytes(most / count)} a rank` : '')];
  })));
  lines('memory-ranks', m.ranks.map((p, i) => ({color: colors[i], values: p[1]})), bytes, 'Memory of some ranks over time');
  $('memory-ranks').append(legend(m.ranks.map(([rank, values], i) => [colors[i], `rank ${number(rank)}: at most ${bytes(Math.max(...values, 0))}`])));
  showStacks(m.stacks);
  $('memory-text').append(...m.text.map((words) => make('p', {}, words)));
}
function showStacks(bins) {
  if (!bins.some((b) => b[2])) { $('stacks').append('No stack was looked at.'); return; }
  const most = Math.max(...bins.map((b) => b[2]), 1);
  chart('stacks', 250, 'Stack of each rank', (e, width) => {
    const y = scale(e, width, most, bytes), each = (width - LEFT) / Math.max(bins.length, 1);
    bins.forEach(([first, count, size], i) => e.append(rect(LEFT + i * each, y(size), each - (each > 4 ? 1 : 0), y(0) - y(size), color('message'),
      (count > 1 ? `ranks ${number(first)}-${number(first + count - 1)}, at most` : `rank ${number(first)}`) + `: ${size ? bytes(size) : 'not looked at'}`)));
    overRanks(e, width);
  });
}
/** Marks in a row of the timeline where its rank has moved, with the process to which it has come where there is room. */
function drawMoves(context, style, moves, rank, top, height, width) {
  let free = LEFT;  // words of moves before it end there
  for (const [at, moved, , to] of moves || []) {
    if (moved !== rank) continue;
    const x = LEFT + (width - LEFT) * Math.min(at / (data.run.seconds || 1), 1), words = number(to);
    context.fillStyle = style.getPropertyValue('--text');
    context.fillRect(x - 1, top, 2, height);
    if (height < 10 || x < free) continue;
    context.font = '9px system-ui, sans-serif';
    context.textAlign = 'left';
    context.fillText(words, x + 2, top + height - 1);
    free = x + 4 + context.measureText(words).width;
    context.font = '12px system-ui, sans-serif';
  }
}
/** What moves have gained, and the first of them. */
function showMoves(moves, words) {
  if (!moves) return;
  const listed = 40;
  $('moves').append(make('h3', {}, 'Ranks that have moved'), make('p', {}, words.charAt(0).toUpperCase() + words.slice(1) + '.'));
  if (!moves.length) return;
  $('moves').append(make('p', {class: 'hint'}, 'Marks in the rows are moves of the rank, with the process to which it has come. What a rank does is shown wherever it is.'));
  table('moves', [['time', (m) => seconds(m[0])], ['rank', (m) => number(m[1])], ['from process', (m) => number(m[2])],
    ['to process', (m) => number(m[3])]], moves.slice(0, listed));
  if (moves.length > listed) $('moves').append(make('p', {class: 'hint'}, `${number(moves.length - listed)} more are not listed.`));
}
function showTimeline() {
  const t = data.timeline, used = new Set(t.rows.flatMap((r) => [...r[1]]));
  $('legend').append(legend(DOING.filter((d, i) => i && used.has(String(i)))));
  showMoves(t.moves, t.text);
  const canvas = $('rows'), height = Math.max(8, Math.min(22, Math.floor(640 / Math.max(t.rows.length, 1))));
  drawn(canvas.parentElement, (width) => {
    const ratio = devicePixelRatio || 1, context = canvas.getContext('2d'), style = getComputedStyle(document.body);
    canvas.width = width * ratio;
    canvas.height = (t.rows.length * height + 20) * ratio;
    context.scale(ratio, ratio);
    const colors = DOING.map(([name]) => style.getPropertyValue('--' + name)), soft = style.getPropertyValue('--soft');
    context.font = '12px system-ui, sans-serif';
    t.rows.forEach(([rank, codes], row) => {
      const x = (i) => Math.round((LEFT + (width - LEFT) * i / codes.length) * ratio) / ratio;
      context.fillStyle = style.getPropertyValue('--panel');
      context.fillRect(LEFT, row * height, width - LEFT, height - 1);
      for (let i = 0; i < codes.length; i++) {
        if (codes[i] === '0') continue;
        context.fillStyle = colors[+codes[i]];
        context.fillRect(x(i), row * height, x(i + 1) - x(i), height - 1);
      }
      drawMoves(context, style, t.moves, rank, row * height, height - 1, width);
      context.fillStyle = soft;
      context.textAlign = 'right';
      if (row % Math.ceil(14 / height) === 0) context.fillText(number(rank), LEFT - 6, Math.max(row * height + height / 2 + 4, 10));
    });
    context.fillText(seconds(data.run.seconds), width, t.rows.length * height + 15);
    context.textAlign = 'left';
    context.fillText('0', LEFT, t.rows.length * height + 15);
    context.textAlign = 'center';
    if (predicted) context.fillText(`virtual time on ${predicted.machine}`, (LEFT + width) / 2, t.rows.length * height + 15);
  });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `What ${t.rows.length} ranks did, from the beginning to ${seconds(data.run.seconds)}`);
  if (!predicted) showActivity();
}
function showActivity() {
  const a = data.activity, names = ['program', 'mpi', 'idle'];
  const layers = d3.stack().keys(names)(a.program.map((_, i) => ({program: a.program[i], mpi: a.mpi[i], idle: a.idle[i]})));
  chart('activity', 150, 'What the threads of all processes did over time', (e, width) => {
    const x = across([0, a.program.length], width), y = d3.scaleLinear().domain([0, 100]).range([120, 10]);
    const area = d3.area().x((_, i) => x(i + .5)).y0((d) => y(d[0])).y1((d) => y(d[1])).curve(d3.curveStep);
    layers.forEach((layer, k) => e.append(make('path', {d: area(layer) || '', fill: color(names[k] === 'mpi' ? 'message' : names[k])})));
    label(e, LEFT - 6, 14, '100 %', 'end');
    overTime(e, width, 122);
  });
  $('activity').append(legend([['program', 'in the program'], ['message', 'in MPI'], ['idle', 'idle: no rank could go on']]));
}

showRun();
showFindings();
showTime();
showTalk();
showCommunicators();
if (!predicted) showMemory();
showTimeline();
// What is drawn, not styled, follows the colours; on paper they are light.
const redraw = () => drawings.forEach((draw) => draw());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
for (const [event, on] of [['beforeprint', true], ['afterprint', false]])
  addEventListener(event, () => { document.documentElement.classList.toggle('paper', on); redraw(); });
