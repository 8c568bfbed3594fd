/** Where somebody goes after signing in: a path of this console, and never another server. */
export function returnPath(to: string | null): string {
  if (to === null || !/^\/(?![/\\])/.test(to)) return "/";
  const base = "http://console.invalid";
  const url = URL.canParse(to, base) ? new URL(to, base) : null;
  // `/.//host` has the origin of the console and the path `//host`, which is an address of that host.
  if (url === null || url.origin !== base || url.pathname.startsWith("//") || isOfSignIn(url.pathname)) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}

/** These lead back to themselves; the page on which a program is confirmed needs a session. */
function isOfSignIn(pathname: string): boolean {
  return pathname.startsWith("/sign-in") && pathname !== "/sign-in/device";
}
