// Runs in a page. `reach.begin()` starts to record where the focus goes; `reach.end()` returns elements that Tab did not reach, that show no focus ring, that
// lie under something else, or that are too small to hit.
{
  const INTERACTIVE = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]";
  const all = (root) => [...root.querySelectorAll("*")].flatMap((one) => (one.shadowRoot === null ? [one] : [one, ...all(one.shadowRoot)]));
  const isShown = (one) => {
    const box = one.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && one.checkVisibility({ visibilityProperty: true }) && one.closest("[inert]") === null;
  };
  /** One radio represents its group: arrow keys choose inside it. */
  const isFirst = (one) =>
    one.type !== "radio" || one === [...document.querySelectorAll(`input[type=radio][name="${one.name}"]`)].find((radio) => radio.checked);
  const isFor = (one) => one.matches(INTERACTIVE) && !one.disabled && one.tabIndex >= 0 && isShown(one) && isFirst(one);
  const nameOf = (one) =>
    `<${one.tagName.toLowerCase()} class="${one.className}"> ${(one.getAttribute("aria-label") ?? one.textContent ?? "").trim().slice(0, 50)}`;
  const deepest = () => {
    let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    return one;
  };
  /** The styles that may draw a focus ring: of the element and of the elements around it. */
  const ringOf = (one) => {
    const rings = [];
    for (let above = one, i = 0; above !== null && i < 4; i += 1) {
      const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(above);
      rings.push(`${outlineStyle === "none" || Number.parseFloat(outlineWidth) < 2 ? "" : outlineWidth} ${boxShadow} ${borderColor}`);
      above = above.parentElement ?? above.getRootNode().host ?? null;
    }
    return rings;
  };
  const before = new Map();
  const reached = new Map();
  const isMissed = (one) => !reached.has(one) && one.isConnected && isShown(one) && one.closest("[data-index]") === null;
  const after = (ms) => new Promise((done) => setTimeout(done, ms));
  /** Some elements draw their ring a frame later. */
  const isRingedLater = async (one) => {
    one.focus();
    await after(40);
    const was = before.get(one);
    return ringOf(one).some((ring, i) => ring !== was[i] && ring.trim() !== "");
  };
  const noted = () => {
    const one = deepest();
    if (one === null || one === document.body || reached.has(one)) return;
    const box = one.getBoundingClientRect();
    const x = box.left + Math.min(box.width, innerWidth) / 2;
    const [from, to] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    const tops = [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => one.getRootNode().elementFromPoint(x, from + (to - from) * part));
    const isSeen = tops.some((top) => top !== null && (one.contains(top) || top.contains(one) || top.closest("label")?.control === one));
    const top = tops[2];
    const rings = ringOf(one);
    const was = before.get(one) ?? rings.map(() => "");
    reached.set(one, {
      isSeen,
      isRinged: rings.some((ring, i) => ring !== was[i] && ring.trim() !== ""),
      by: top === null ? "nothing" : nameOf(top),
    });
  };
  window.reach = {
    begin() {
      document.activeElement?.blur();
      for (const one of all(document.body)) if (isFor(one)) before.set(one, ringOf(one));
      for (const root of [document, ...all(document.body).flatMap((one) => one.shadowRoot ?? [])]) root.addEventListener("focusin", noted);
      return before.size;
    },
    isLeft: () => [...before.keys()].some(isMissed),
    async end() {
      const found = [];
      for (const one of before.keys()) {
        const how = reached.get(one);
        if (how === undefined) {
          if (isMissed(one)) found.push(`not reached by Tab: ${nameOf(one)}`);
          continue;
        }
        if (!how.isRinged && !(await isRingedLater(one))) found.push(`focused and not seen to be: ${nameOf(one)}`);
        if (!how.isSeen) found.push(`focused under ${how.by}: ${nameOf(one)}`);
        const { width, height } = one.getBoundingClientRect();
        const isInText = one.matches("a, button") && !/flex|grid/.test(getComputedStyle(one.parentElement).display);
        if (!isInText && one.isConnected && (width < 24 || height < 24))
          found.push(`${Math.round(width)}×${Math.round(height)}, 24 is the least: ${nameOf(one)}`);
      }
      return found;
    },
  };
}
