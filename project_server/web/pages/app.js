// Refreshes the page from the server's JSON. Text from the server is inserted only as text nodes.
'use strict';

const refreshMilliseconds = 2000;
const element = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = (value, digits = 0) =>
  Number(value).toLocaleString('en', {minimumFractionDigits: digits, maximumFractionDigits: digits});

let chart = null;

function drawCurves(training, heldOut) {
  if (typeof Chart === 'undefined') {
    element('run-note').textContent = 'The loss curves need Chart.js, which this server does not have.';
    return;
  }
  const curves = [training, heldOut].map((curve) => curve.map(([step, loss]) => ({x: step, y: loss})));
  if (chart === null) {
    chart = new Chart(element('curve'), {
      type: 'line',
      data: {datasets: [{
        label: 'training loss, as volunteers report it', data: curves[0],
        borderColor: style('--accent'), backgroundColor: style('--accent'), borderWidth: 2,
        pointRadius: 0, tension: 0.2,
      }, {
        label: 'held-out loss, as the project measured it', data: curves[1],
        borderColor: style('--measured'), backgroundColor: style('--measured'), borderWidth: 2,
        borderDash: [6, 3], pointRadius: 3, tension: 0,
      }]},
      options: {
        animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
        interaction: {mode: 'nearest', axis: 'x', intersect: false},
        plugins: {legend: {labels: {color: style('--soft'), boxWidth: 24, boxHeight: 2}}},
        scales: {
          x: {type: 'linear', min: 0, title: {display: true, text: 'update', color: style('--soft')},
            ticks: {color: style('--soft')}, grid: {color: style('--line')}},
          y: {title: {display: true, text: 'loss', color: style('--soft')},
            ticks: {color: style('--soft')}, grid: {color: style('--line')}},
        },
      },
    });
    return;
  }
  curves.forEach((points, at) => { chart.data.datasets[at].data = points; });
  chart.update('none');
}

function fillTable(id, rows) {
  const body = element(id);
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement('tr');
    for (const {text, kind = '', title = '', link = ''} of cells) {
      const cell = document.createElement('td');
      if (link) {
        const anchor = document.createElement('a');
        anchor.href = link;
        anchor.textContent = text;
        cell.append(anchor);
      } else {
        cell.textContent = text;
      }
      cell.className = kind;
      cell.title = title;
      row.append(cell);
    }
    return row;
  }));
}

function ago(seconds) {
  if (seconds < 90) return `${number(seconds)} s ago`;
  if (seconds < 5400) return `${number(seconds / 60)} min ago`;
  return `${number(seconds / 3600)} h ago`;
}

const percent = (share) => `${number(100 * share, 2)} %`;

function showHeldOut(figures) {
  element('run-held-out').textContent = figures ? number(figures.loss, 4) : '–';
  element('run-masked').textContent = figures ? percent(figures.masked_accuracy) : '–';
  element('run-order').textContent = figures ? percent(figures.order_accuracy) : '–';
  element('run-held-out-note').textContent = figures ?
    `Last measured after update ${number(figures.step)}, on ${number(figures.samples)} samples: ` +
    `${number(figures.loss, 4)} ± ${number(figures.loss_error, 4)} (standard error).` :
    'This run has not been measured yet.';
}

function showRuns(runs) {
  fillTable('runs', runs.map(({name, state, step, steps, loss, held_out: figures}) => [
    {text: name, link: `?run=${encodeURIComponent(name)}`},
    {text: state},
    {text: `${number(step)} of ${number(steps)}`, kind: 'number'},
    {text: step > 0 ? number(loss, 4) : '–', kind: 'number'},
    {text: figures ? number(figures.loss, 4) : '–', kind: 'number'},
    {text: figures ? number(figures.step) : '–', kind: 'number'},
    {text: figures ? percent(figures.masked_accuracy) : '–', kind: 'number'},
    {text: figures ? percent(figures.order_accuracy) : '–', kind: 'number'},
  ]));
}

function showRun(run) {
  element('run-name').textContent = run.name;
  element('run-state').textContent = run.state;
  element('run-progress').value = run.steps > 0 ? run.step / run.steps : 0;
  element('run-steps').textContent = `${number(run.step)} of ${number(run.steps)}`;
  element('run-loss').textContent = run.curve.length ? number(run.loss, 4) : '–';
  showHeldOut(run.held_out);
  element('run-samples').textContent = number(run.samples);
  element('run-rate').textContent = number(run.samples_per_second, 1);
  element('run-digest').textContent = run.digest ? run.digest.slice(0, 16) : '–';
  element('run-digest').title = run.digest;
  element('run-note').textContent = run.curve.length === 0 ? 'No update has been made yet.' :
    `At the last update ${run.equal_digests} of ${run.members} peers reported this state digest.`;
  drawCurves(run.curve, run.held_out_curve || []);
  fillTable('peers', run.peers.map((peer) => [
    {text: peer.user || '–'},
    {text: peer.host ? `#${peer.host}` : '–'},
    {text: peer.role},
    {text: peer.state, kind: peer.state === 'working' ? 'good' : ''},
    {text: number(peer.step), kind: 'number'},
    {text: number(peer.samples_per_second, 1), kind: 'number'},
    {text: peer.digest.slice(0, 8), kind: 'mono', title: peer.digest},
    {text: ago(peer.seen_seconds_ago)},
  ]));
}

function showLeaderboard(board) {
  fillTable('users', board.users.map((user, place) => [
    {text: place + 1}, {text: user.name},
    {text: number(user.credit, 2), kind: 'number'},
    {text: number(user.recent_credit, 2), kind: 'number'},
  ]));
  fillTable('hosts', board.hosts.map((host, place) => [
    {text: place + 1},
    {text: `#${host.id}, ${host.cores} cores`, title: `${host.processor}, ${host.system}`},
    {text: host.owner},
    {text: number(host.credit, 2), kind: 'number'},
  ]));
}

async function fetchJson(url) {
  const answer = await fetch(url, {cache: 'no-store'});
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer.json();
}

async function refresh() {
  try {
    const {runs} = await fetchJson('api/runs.json');
    showRuns(runs);
    const wanted = new URLSearchParams(location.search).get('run');
    const run = runs.find(({name}) => name === wanted) || runs[0];
    if (run) {
      showRun(await fetchJson(`api/run/${encodeURIComponent(run.name)}.json`));
    } else {
      element('run-note').textContent = 'There is no training run yet.';
    }
    showLeaderboard(await fetchJson('api/leaderboard.json'));
  } catch (error) {
    element('run-note').textContent = 'The server does not answer; retrying.';
  }
  setTimeout(refresh, refreshMilliseconds);
}

refresh();
