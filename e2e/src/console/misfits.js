// Runs in a page: finds elements wider than the window, text that is cut off, hidden characters, and motion where none is wanted.
(() => {
  const found = [];
  const root = document.documentElement;
  const names = (element) =>
    `<${element.tagName.toLowerCase()} class="${element.className}"> ${(element.textContent ?? "").trim().slice(0, 60)}`;
  const isCut = ({ overflowX, overflowY }) => ["hidden", "clip"].includes(overflowX) || ["hidden", "clip"].includes(overflowY);
  if (root.scrollWidth > root.clientWidth + 1) found.push(`the page is ${root.scrollWidth} wide in a window of ${root.clientWidth}`);
  for (const element of document.querySelectorAll("body *")) {
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || style.display === "none" || element.closest(".unseen, [aria-hidden=true], svg") !== null) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && (node.textContent ?? "").trim() !== "");
    if (!hasText) continue;
    const overflows = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
    if (isCut(style) && overflows) found.push(`cut off: ${names(element)}`);
    let scrolls = false;
    for (let above = element; above !== null; above = above.parentElement) {
      const { overflowX } = getComputedStyle(above);
      if (["auto", "scroll"].includes(overflowX) && above.scrollWidth > above.clientWidth) scrolls = true;
    }
    if (box.right > root.clientWidth + 1 && !scrolls) found.push(`beyond the window: ${names(element)}`);
  }
  const hides = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      const texts = [...element.childNodes].flatMap((node) => (node.nodeType === 3 ? [node.data] : []));
      texts.push(...[...element.attributes].map(({ value }) => value), typeof element.value === "string" ? element.value : "");
      if (texts.some((text) => hides.test(text))) found.push(`a hidden character is there as itself: ${names(element)}`);
      if (element.shadowRoot !== null) look(element.shadowRoot);
    }
  };
  look(document.body);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches)
    for (const one of document.getAnimations())
      found.push(`it moves: ${one.animationName ?? one.transitionProperty} of ${names(one.effect.target)}`);
  return found;
})();
