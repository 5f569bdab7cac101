// Elements of the page, made in one line each.
export const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in node && key !== 'role') node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};

// A patch of a class, with its hatching.
export const makeSwatch = () => make('canvas', { className: 'swatch', width: 22, height: 14, ariaHidden: 'true' });
