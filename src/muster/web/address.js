// Addresses of the server. The page may be below a path prefix of a proxy (https://example.org/team/), which the address
// of this module has, too: /team/web/BUILD/address.js. Workers use it, so it must not use the DOM.

const root = new URL("../../", import.meta.url);

/** The URL of a path of the server: at("/api/state"). */
export const at = (path) => new URL(path.replace(/^\/+/, ""), root).href;
