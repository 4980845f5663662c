'use strict';
// Zoom: drag over a plot, the buttons, or the wheel with Ctrl held. All plots show the same part of the run. What a
// plot says at a point is read from its own paths: rectangles "Mx yhWvHh-Wz" of a track, steps "Mx yVyHx..." of a tunnel.
(() => {
  const width = 100000, height = 40;
  const run = Number(document.body.dataset.run);
  const plots = [...document.querySelectorAll('svg.plot')];
  const areas = [...document.querySelectorAll('.rows')];
  if (plots.length === 0) return;
  document.documentElement.classList.add('js');
  let from = 0, to = width;

  const digits = (n) => n === 0 ? '0' : String(Number(n.toPrecision(3)));
  const unitOf = (us) => us < 999.5 ? [1, ' \u00b5s'] : us < 999500 ? [1e3, ' ms'] : [1e6, ' s'];
  const time = (us) => digits(us / unitOf(us)[0]) + unitOf(us)[1];
  const at = (x) => x / width * run;

  function drawTicks() {
    const rough = at(to - from) / 6, power = 10 ** Math.floor(Math.log10(rough)), r = rough / power;
    const step = (r < 1.5 ? 1 : r < 3.5 ? 2 : r < 7.5 ? 5 : 10) * power;
    // Neighbours must differ: as many digits as the step has.
    const unit = unitOf(at(to));
    const places = Math.max(0, -Math.floor(Math.log10(step / unit[0]) + 1e-9));
    for (const ticks of document.querySelectorAll('.ticks')) {
      ticks.replaceChildren();
      for (let i = Math.ceil(at(from) / step); i * step < at(to); ++i) {
        const left = (i * step - at(from)) / at(to - from);
        if (left > 0.97) break;
        const tick = document.createElement('span');
        tick.className = 'tick';
        tick.style.left = left * 100 + '%';
        tick.textContent = i === 0 ? '0' : (i * step / unit[0]).toFixed(places) + unit[1];
        ticks.append(tick);
      }
    }
  }

  function show(a, b) {
    const least = 50;
    if (b - a < least) { const middle = (a + b) / 2; a = middle - least / 2; b = middle + least / 2; }
    if (a < 0) { b -= a; a = 0; }
    if (b > width) { a = Math.max(0, a - (b - width)); b = width; }
    from = a; to = b;
    for (const plot of plots) plot.setAttribute('viewBox', `${a} 0 ${b - a} ${height}`);
    drawTicks();
  }
  const zoom = (factor, middle) => show(middle - (middle - from) * factor, middle + (to - middle) * factor);

  const read = new Map();
  function rectangles(path) {
    if (!read.has(path)) {
      const all = [];
      for (const m of path.getAttribute('d').matchAll(/M(\d+) (\d+)h(\d+)v(\d+)/g))
        all.push([+m[1], +m[1] + +m[3], +m[4]]);
      read.set(path, all);
    }
    return read.get(path);
  }
  function levelAt(path, x) {
    if (!read.has(path))
      read.set(path, [...path.getAttribute('d').matchAll(/([MHV])(\d+)/g)].map((m) => [m[1], +m[2]]));
    let level = height;
    for (const [command, value] of read.get(path)) {
      if (command === 'V') level = value; else if (value > x) break;
    }
    return height - level;
  }

  function sayTunnel(plot, x) {
    const lines = [];
    for (const path of plot.querySelectorAll('path[data-say]'))
      lines.push(path.dataset.say + ': ' + digits(levelAt(path, x) / height * Number(plot.dataset.top)));
    return lines.join('\n');
  }
  function sayTrack(target, x) {
    if (target.classList.contains('mark') || target.tagName === 'rect') return target.dataset.say;
    for (const [a, b, part] of rectangles(target)) {
      if (x < a || x > b) continue;
      const share = part < height ? Math.round(part / height * 100) + ' % of ' : '';
      return target.dataset.say + '\n' + share + time(at(b - a)) + ', from ' + time(at(a));
    }
    return target.dataset.say;
  }

  const tip = document.createElement('div');
  tip.id = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  const box = () => plots[0].getBoundingClientRect();
  const unitsAt = (clientX) => from + Math.min(1, Math.max(0, (clientX - box().left) / box().width)) * (to - from);
  const pixels = (x, area) => box().left - area.getBoundingClientRect().left + (x - from) / (to - from) * box().width;

  let pressed = null;
  for (const area of areas) {
    const cursor = document.createElement('div'), chosen = document.createElement('div');
    cursor.className = 'cursor';
    chosen.className = 'chosen';
    cursor.hidden = chosen.hidden = true;
    area.append(cursor, chosen);
    area.addEventListener('pointermove', (event) => {
      const inside = event.clientX >= box().left;
      cursor.hidden = !inside;
      cursor.style.left = event.clientX - area.getBoundingClientRect().left + 'px';
      const x = unitsAt(event.clientX);
      if (pressed !== null) {
        const [a, b] = pressed < x ? [pressed, x] : [x, pressed];
        chosen.hidden = false;
        chosen.style.left = pixels(a, area) + 'px';
        chosen.style.width = pixels(b, area) - pixels(a, area) + 'px';
      }
      const plot = event.target.closest('svg.plot');
      let said = time(at(x));
      if (plot !== null && plot.dataset.top) said += '\n' + sayTunnel(plot, x);
      else if (plot !== null && event.target.dataset.say) said += '\n' + sayTrack(event.target, x);
      tip.textContent = said;
      tip.hidden = !inside;
      tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
      tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px';
    });
    area.addEventListener('pointerleave', () => { tip.hidden = cursor.hidden = true; });
    area.addEventListener('pointerdown', (event) => {
      if (event.button === 0 && event.clientX >= box().left) pressed = unitsAt(event.clientX);
    });
    addEventListener('pointerup', (event) => {
      chosen.hidden = true;
      if (pressed === null || !area.contains(event.target)) return;
      const x = unitsAt(event.clientX), far = Math.abs(x - pressed) > (to - from) / 200;
      const begin = Math.min(pressed, x), end = Math.max(pressed, x);
      pressed = null;
      if (far) show(begin, end);
    });
    area.addEventListener('dblclick', () => show(0, width));
    area.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const by = event.deltaY || event.deltaX;
      if (event.ctrlKey) zoom(by > 0 ? 1.25 : 0.8, unitsAt(event.clientX));
      else show(from + (to - from) * (by > 0 ? 0.1 : -0.1), to + (to - from) * (by > 0 ? 0.1 : -0.1));
    }, {passive: false});
  }
  addEventListener('pointerup', () => { pressed = null; });
  const middle = () => (from + to) / 2;
  const actions = {closer: () => zoom(0.5, middle()), farther: () => zoom(2, middle()), all: () => show(0, width)};
  for (const button of document.querySelectorAll('.tools button'))
    button.addEventListener('click', actions[button.dataset.do]);
  show(0, width);
})();
