/** Styles of one page: they apply to that page only, so that pages cannot disturb each other. */

/**
 * Apply the style sheet of the page that is shown, and turn off those of other pages. This
 * changes `media`: a link that is `disabled` would load its sheet again when it is enabled,
 * and the page would flicker.
 */
export function applyPageStyles() {
  const name = getPageName();
  const links = /** @type {NodeListOf<HTMLLinkElement>} */ (document.querySelectorAll("link[data-page]"));
  for (const link of links) link.media = link.dataset["page"] === name ? "all" : "not all";
}

/** Return the name of the page that is shown, such as `sessions`. */
function getPageName() {
  const name = location.pathname.split("/")[1] ?? "";
  return { "": "sessions", s: "reader" }[name] ?? name;
}
