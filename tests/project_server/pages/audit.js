// What is wrong with the page as it is laid out now, as a list of sentences: the rules of WCAG 2.2 AA
// that a program can check. `width` is the width of the window in CSS pixels.
(width) => {
  const faults = [];
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const isSeen = (element) => element.checkVisibility({checkVisibilityCSS: true}) &&
      element.getBoundingClientRect().width > 0;
  const name = (element) => {
    const text = element.textContent.trim().replace(/\s+/g, ' ').slice(0, 40);
    return `<${element.tagName.toLowerCase()}${element.id ? ` id=${element.id}` : ''}> "${text}"`;
  };
  const fault = (what, element) => faults.push(element ? `${what}: ${name(element)}` : what);

  // The document.
  if (!document.title.trim()) fault('no title');
  if (!document.documentElement.lang) fault('no language');
  if (all('main').length !== 1) fault('not one main');
  for (const element of all('[id]')) {
    if (all(`[id="${CSS.escape(element.id)}"]`).length > 1) fault('id used twice', element);
  }
  for (const attribute of ['for', 'aria-labelledby', 'aria-describedby']) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) {
        if (!document.getElementById(id)) fault(`${attribute} names nothing`, element);
      }
    }
  }

  // Headings.
  const headings = all('h1, h2, h3, h4, h5, h6').filter(isSeen);
  if (headings.filter((heading) => heading.tagName === 'H1').length !== 1) fault('not one h1');
  headings.reduce((level, heading) => {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) fault('skips a level', heading);
    if (!heading.textContent.trim()) fault('empty heading', heading);
    return next;
  }, 0);

  // Names of what is operated.
  for (const field of all('input:not([type=hidden]), select, textarea')) {
    if (![...field.labels].some((label) => label.textContent.trim())) fault('no label', field);
  }
  for (const element of all('a[href], button, summary, [role=region], [role=img], nav, iframe, img')) {
    const label = element.getAttribute('aria-label') || element.getAttribute('alt') ||
        (element.getAttribute('aria-labelledby') && 'checked above') ||
        (element.matches('a, button, summary') && element.textContent.trim());
    if (!label) fault('no name', element);
  }

  for (const details of all('details')) {
    if (!details.querySelector(':scope > summary')) fault('details without summary', details);
  }

  // Tables.
  for (const header of all('th')) {
    if (!['col', 'row'].includes(header.scope)) fault('th without scope', header);
  }
  for (const table of all('table')) {
    const columns = all('thead th', table).length;
    if (columns === 0) fault('table without column headers', table);
    for (const row of all('tbody tr', table)) {
      const cells = [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0);
      if (cells !== columns) fault(`a row has ${cells} of ${columns} columns`, row);
    }
  }

  // Width: only what scrolls by itself, and can be scrolled by keyboard, may be wider.
  const scroller = document.scrollingElement;
  const scrolls = (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
  const ancestors = function* (element) {
    for (let at = element.parentElement; at; at = at.parentElement) yield at;
  };
  if (scroller.scrollWidth > width) {
    fault(`the page is ${scroller.scrollWidth} px wide in a window of ${width} px`);
    for (const element of all('body *')) {
      if (element.getBoundingClientRect().right > width + 1 && isSeen(element) &&
          ![...ancestors(element)].some(scrolls)) {
        fault('sticks out', element);
      }
    }
  }
  for (const element of all('body *')) {
    if (scrolls(element) && element.scrollWidth > element.clientWidth + 1 &&
        element.tabIndex < 0) {
      fault('scrolls, but not by keyboard', element);
    }
  }

  // Contrast of text with the nearest background below it.
  const colour = (text) => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return {channels: [red, green, blue], alpha};
  };
  const over = (front, back) => front.channels.map(
      (channel, at) => channel * front.alpha + back[at] * (1 - front.alpha));
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(colour(getComputedStyle(at).backgroundColor));
    }
    return layers.reduceRight((back, layer) => over(layer, back), [255, 255, 255]);
  };
  const luminance = (channels) => channels
      .map((channel) => channel / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const checked = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || checked.has(element) || !isSeen(element)) continue;
    checked.add(element);
    const style = getComputedStyle(element);
    const back = background(element);
    const [low, high] = [luminance(back), luminance(over(colour(style.color), back))]
        .sort((one, other) => one - other);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < (isLarge ? 3 : 4.5)) fault(`contrast ${contrast.toFixed(2)}`, element);
    if (size < 12) fault(`text of ${size} px`, element);
  }

  // Targets of a finger: 24 px, or so far from the next (WCAG 2.5.8). Links in a sentence are exempt.
  const isInSentence = (element) => element.tagName === 'A' &&
      getComputedStyle(element).display === 'inline' &&
      element.parentElement.textContent.trim() !== element.textContent.trim();
  const targets = all('a[href], button, input:not([type=hidden]), select, textarea, summary')
      .filter((element) => isSeen(element) && !element.matches('.skip'))
      .map((element) => ({element, box: element.getBoundingClientRect()}));
  const isSmall = ({box}) => box.width < 24 || box.height < 24;
  const middle = ({box}) => [box.x + box.width / 2, box.y + box.height / 2];
  for (const target of targets) {
    if (!isSmall(target) || isInSentence(target.element)) continue;
    const [x, y] = middle(target);
    for (const other of targets) {
      if (other === target) continue;
      const {box} = other;
      const [nextX, nextY] = middle(other);
      const isNear = isSmall(other) ? Math.hypot(x - nextX, y - nextY) < 24 :
          Math.hypot(x - Math.min(Math.max(x, box.left), box.right),
              y - Math.min(Math.max(y, box.top), box.bottom)) < 12;
      if (isNear) fault(`small, and close to ${name(other.element)}`, target.element);
    }
  }

  // Nothing of a name has become an element.
  for (const script of all('script')) {
    if (!script.src || new URL(script.src).origin !== location.origin) fault('foreign script', script);
  }
  for (const element of all('*')) {
    for (const {name: attribute} of element.attributes) {
      // Chart.js sets the size of its canvas.
      if (attribute === 'style' && element.tagName === 'CANVAS') continue;
      if (/^(on|style$)/.test(attribute)) fault(`attribute ${attribute}`, element);
    }
    if (/^\s*javascript:/i.test(element.getAttribute('href') || '')) fault('script in a link', element);
  }
  return [...new Set(faults)];
}
