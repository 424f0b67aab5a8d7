// Keeps the page of a run up to date. Text from the server is inserted only as text nodes.
'use strict';

const refreshMilliseconds = 3000;
const element = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = (value, digits = 0) =>
  Number(value).toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});

function dataset(label, points, colour, options = {}) {
  return {label, data: points, borderColor: colour, backgroundColor: colour, borderWidth: 2,
    pointRadius: ({dataset: {data}}) => (data.length === 1 ? 3 : 0), tension: 0.2, ...options};
}

function axis(text, options = {}) {
  return {title: {display: true, text, color: style('--soft')}, ticks: {color: style('--soft')},
    grid: {color: style('--line')}, ...options};
}

function draw(id, datasets, scales) {
  const known = Chart.getChart(id);
  if (known) {
    if (known.data.datasets.length !== datasets.length) known.data.datasets = datasets;
    datasets.forEach(({data}, at) => { known.data.datasets[at].data = data; });
    known.update('none');
    return;
  }
  new Chart(element(id), {
    type: 'line',
    data: {datasets},
    options: {
      animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
      interaction: {mode: 'nearest', axis: 'x', intersect: false},
      plugins: {legend: {labels: {color: style('--soft'), boxWidth: 24, boxHeight: 2}}},
      scales: {x: axis('update', {type: 'linear', min: 0}), ...scales},
    },
  });
}

function drawCurves(run) {
  if (typeof Chart === 'undefined') {
    element('run-note').textContent = 'The curves need Chart.js, which this server does not have.';
    return;
  }
  const isEmpty = !(run.curve || []).length && !(run.held_out_curve || []).length;
  element('loss-chart').parentElement.hidden = isEmpty;
  element('rate-chart').parentElement.hidden = isEmpty;
  element('run-empty').hidden = !isEmpty;
  if (isEmpty) return;
  const column = (curve, at) => (curve || []).map((point) => ({x: point[0], y: point[at]}));
  draw('loss-chart', [
    dataset('training loss, as volunteers report it', column(run.curve, 1), style('--accent')),
    dataset('held-out loss, as the project measured it', column(run.held_out_curve, 1),
        style('--measured'), {borderDash: [6, 3], pointRadius: 3, tension: 0}),
    ...(run.sources || []).map((name, at) => dataset(`held-out loss of ${name}`,
        column(run.source_curve, at + 1), `hsl(${(200 + at * 137) % 360} 55% 50%)`,
        {borderDash: [2, 3], borderWidth: 1.5, pointRadius: 2, tension: 0})),
  ], {y: axis('loss')});
  draw('rate-chart', [
    dataset('samples a second', column(run.curve, 2), style('--accent')),
    dataset('peers', column(run.curve, 3), style('--measured'), {yAxisID: 'peers', borderDash: [6, 3]}),
  ], {
    y: axis('samples a second', {min: 0}),
    peers: axis('peers', {min: 0, position: 'right', grid: {drawOnChartArea: false}}),
  });
  drawBytes(run);
}

// Computed from the number of peers, not measured.
function drawBytes(run) {
  const points = (run.curve || []).map((point) => ({x: point[0], y: point[4] / 1e6}));
  const isKnown = points.some(({y}) => y > 0);
  element('bytes-box').hidden = !isKnown;
  if (!isKnown) return;
  draw('bytes-chart', [dataset('MB between all peers in a step, computed', points, style('--accent'))],
      {y: axis('MB', {min: 0})});
}

function cell(kind, text, link = '') {
  const made = document.createElement(kind);
  const inside = link ? document.createElement('a') : made;
  if (link) {
    inside.href = link;
    made.append(inside);
  }
  inside.textContent = text;
  return made;
}

function ago(seconds) {
  if (seconds < 90) return `${number(seconds)} s ago`;
  if (seconds < 5400) return `${number(seconds / 60)} min ago`;
  return `${number(seconds / 3600)} h ago`;
}

function peerRow(peer, root) {
  const row = document.createElement('tr');
  const key = document.createElement('th');
  key.scope = 'row';
  key.append(cell('code', peer.key));
  const digest = document.createElement('td');
  digest.append(cell('code', peer.short_digest));
  const unknown = peer.has_ticket ? 'anonymous' : '–';
  row.append(key,
      peer.is_shown ? cell('td', peer.user, `${root}/user/${peer.user_id}`) : cell('td', unknown),
      peer.is_shown ? cell('td', `#${peer.host}`, `${root}/host/${peer.host}`) : cell('td', '–'),
      cell('td', peer.role), cell('td', peer.state), cell('td', number(peer.step)),
      cell('td', number(peer.samples_per_second, 1)), digest,
      cell('td', ago(peer.seen_seconds_ago)));
  row.children[5].className = 'number';
  row.children[6].className = 'number';
  return row;
}

function answerRow({step, words}) {
  const row = document.createElement('div');
  const answers = document.createElement('dd');
  for (const {word, share, is_wanted: isWanted} of words) {
    const answer = document.createElement('span');
    answer.className = isWanted ? 'right' : '';
    answer.append(cell('bdi', word), ' ', cell('small', share));
    answers.append(answer, ' ');
  }
  row.append(cell('dt', `Update ${number(step)}`), answers);
  return row;
}

function maskedSentence({before, after, wanted, states}) {
  const box = document.createElement('div');
  box.className = 'masked';
  const text = document.createElement('p');
  text.dir = 'auto';
  text.append(`${before} `, cell('mark', wanted || '?'), after);
  const list = document.createElement('dl');
  list.append(...states.map(answerRow));
  box.append(text, list);
  return box;
}

function show(run) {
  const texts = {
    'run-state': run.state,
    'run-step': number(run.step),
    'run-loss': run.has_steps ? number(run.loss, 4) : '–',
    'run-held-out': run.held_out ? number(run.held_out.loss, 4) : '–',
    'run-samples': run.without_database ? '–' : number(run.samples),
    'run-rate': number(run.samples_per_second, 1),
    'run-peers': number(run.working_peers),
    'run-note': '',
  };
  for (const [id, text] of Object.entries(texts)) element(id).textContent = text;
  for (const place of document.querySelectorAll('[data-figure]')) {
    const figure = run.headlines.find(({name}) => name === place.dataset.figure);
    place.textContent = figure && figure.text ? figure.text : '–';
  }
  if (run.peers.length > 0) {
    const body = element('peers');
    body.replaceChildren(...run.peers.map((peer) => peerRow(peer, body.dataset.root)));
  }
  if (run.masks_words) element('answers-box').hidden = !run.has_sentences;
  if (run.has_sentences) element('answers').replaceChildren(...run.sentences.map(maskedSentence));
  drawCurves(run);
}

async function refresh() {
  try {
    const answer = await fetch(element('loss-chart').dataset.source, {cache: 'no-cache'});
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
  } catch (error) {
    element('run-note').textContent = 'The server does not answer; trying again.';
  }
  // live.js keeps the figures up to date meanwhile.
  const isSlow = document.hidden || document.documentElement.classList.contains('live');
  setTimeout(refresh, isSlow ? 10 * refreshMilliseconds : refreshMilliseconds);
}

refresh();
