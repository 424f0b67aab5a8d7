// Follows the run's server-sent events while its page is visible. As long as the stream lives the
// page asks for its JSON less often (run.js). Text from the server is inserted only as text nodes.
'use strict';

(() => {
  const page = document.documentElement;
  const place = (id) => document.getElementById(id);
  const write = (id, value, digits = 0) => {
    place(id).textContent = Number(value).toLocaleString('en',
        {minimumFractionDigits: digits, maximumFractionDigits: digits});
  };

  function step(data) {
    write('run-step', data.step);
    write('run-loss', data.loss, 4);
    const chart = typeof Chart === 'undefined' ? null : Chart.getChart('loss-chart');
    const curve = chart ? chart.data.datasets[0].data : [];
    if (chart && (curve.length === 0 || curve[curve.length - 1].x < data.step)) {
      curve.push({x: data.step, y: data.loss});
      chart.update('none');
    }
  }
  function progress(data) {
    write('run-rate', data.samples_per_second, 1);
    write('run-peers', data.trainers);
  }
  const state = (data) => { place('run-state').textContent = data.state; };
  const changes = {
    snapshot: (data) => {
      state(data);
      progress(data.progress);
      data.recent.forEach(step);
    },
    step, progress, state,
  };

  let source = null;
  function follow() {
    if (source !== null || document.hidden) return;
    source = new EventSource(place('loss-chart').dataset.events);
    source.addEventListener('open', () => page.classList.add('live'));
    source.addEventListener('error', () => page.classList.remove('live'));
    source.addEventListener('away', () => page.classList.remove('live'));
    for (const [name, change] of Object.entries(changes)) {
      source.addEventListener(name, (message) => {
        page.classList.add('live');
        change(JSON.parse(message.data));
      });
    }
  }
  function leave() {
    if (source !== null) source.close();
    source = null;
    page.classList.remove('live');
  }
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : follow()));
  follow();
})();
