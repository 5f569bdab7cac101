// Requests to the server. The key comes with the address, once, and stays in this browser.
const name = `credence-key-${location.port}`;

function takeKey() {
  const given = /[#&]key=([0-9a-f]{32})/.exec(location.hash);
  if (given) {
    try { localStorage.setItem(name, given[1]); } catch { /* the tab has it all the same */ }
    const rest = location.hash.replace(/[#&]key=[0-9a-f]{32}/, '').replace(/^&/, '#');
    history.replaceState(null, '', location.pathname + (rest === '#' ? '' : rest));
    return given[1];
  }
  try { return localStorage.getItem(name) ?? ''; } catch { return ''; }
}

export const key = takeKey();
export const headers = { 'X-Credence-Key': key };

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function get(path, options = {}) {
  const response = await fetch(`/api/1/${path}`, { headers, ...options });
  if (response.ok) return response;
  let code = '', message = response.statusText;
  try { ({ code, message } = (await response.json()).error); } catch { /* the status says enough */ }
  throw new ApiError(response.status, code, message);
}

export const getJson = async path => (await get(path)).json();

// JSON there and back.
export const send = async (method, path, body) =>
  (await get(path, { method, body: JSON.stringify(body), headers: { ...headers, 'Content-Type': 'application/json' } })).json();
