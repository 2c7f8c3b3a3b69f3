// Runs in a page: what is wider than the window, and text that is cut off.
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
  return found;
})();
