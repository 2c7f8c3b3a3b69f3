// Runs in a page: finds elements that move during a turn and should not. `still.begin()` starts, `still.end()` returns what moved.
window.still ??= (() => {
  let run = null;
  const box = () => document.querySelector("section[aria-label=Conversation]");
  const names = (element) =>
    `<${element.tagName.toLowerCase()} class="${element.className}"> ${(element.textContent ?? "").trim().slice(0, 50)}`;
  const topOf = (element) => Math.round(element.getBoundingClientRect().top);
  /** The first row that is fully visible: the one somebody reads. */
  const read = () => {
    const top = box().getBoundingClientRect().top;
    return [...box().querySelectorAll("[data-index]")].find((row) => row.getBoundingClientRect().top >= top - 1) ?? null;
  };
  return {
    /** `isAway`: the reader has scrolled up, so that what is read must not move at all; else it may go up, as what follows grows, and never back down. */
    async begin(isAway) {
      for (let i = 0; i < 3; i += 1) await new Promise((done) => requestAnimationFrame(done)); // earlier changes have settled
      const composer = document.querySelector("form:has(#said)");
      const [row, at] = [read(), { composer: topOf(composer), height: composer.offsetHeight }];
      const state = { found: new Set(), score: 0, frames: 0, goes: true, last: row === null ? null : topOf(row), observer: null };
      state.observer = new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) {
          const others = sources.flatMap(({ node }) =>
            node instanceof Element ? [node] : node?.parentElement ? [node.parentElement] : [],
          );
          const outside = others.filter((node) => isAway || !box().contains(node));
          if (outside.length === 0) continue;
          state.score += value;
          state.by = [...(state.by ?? []), ...outside.map(names)];
        }
      });
      state.observer.observe({ type: "layout-shift", buffered: false });
      const look = () => {
        state.frames += 1;
        if (topOf(composer) !== at.composer) state.found.add(`the field moved by ${topOf(composer) - at.composer} px`);
        if (row !== null && (isAway || row.isConnected)) {
          const top = row.isConnected ? topOf(row) : Number.NaN;
          if (isAway ? top !== state.last : top > state.last + 1) state.found.add(`what is read moved by ${top - state.last} px`);
          state.last = isAway ? state.last : top;
        }
        if (state.goes) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
      run = state;
    },
    end() {
      run.goes = false;
      run.observer.disconnect();
      if (run.score > 0.02) run.found.add(`a layout shift of ${run.score.toFixed(3)}: ${[...new Set(run.by)].slice(0, 6).join(" | ")}`);
      if (run.frames < 5) run.found.add(`looked at ${run.frames} frames alone`);
      return [...run.found];
    },
  };
})();
