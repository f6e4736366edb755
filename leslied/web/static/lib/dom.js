/**
 * Elements without HTML strings: all text becomes text nodes, so nothing in a log is
 * ever parsed as markup.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Make an element. `on…` properties become listeners, `class`, `href`, `data-…` and the
 * rest attributes; a value of false, null or undefined leaves one out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/**
 * Make an SVG element.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/**
 * Parse HTML that the server made from Markdown or code. The server escapes everything
 * in it that comes from a log; scripts would not run anyway.
 *
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function parseServerHtml(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/**
 * @param {Element} element
 * @param {Record<string, unknown>} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/**
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
function append(element, children) {
  for (const child of children.flat()) {
    if (child === false || child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}
