/**
 * Who must sign in. `elsewhere`: everybody but callers on this machine; `always`: everybody; `off`: nobody, because a proxy in
 * front lets in only whom it knows.
 */
export const SIGN_IN_MODES = ["elsewhere", "always", "off"] as const;
export type SignInMode = (typeof SIGN_IN_MODES)[number];

/**
 * The mode where none is set: whoever gives the console an address or a host of others has a proxy in front, perhaps on this machine,
 * and its requests may look as if they came from here. Texts as the environment has them.
 */
export function signInModeOf(
  given: SignInMode | null,
  { publicUrl, allowedHosts }: { publicUrl: string | null; allowedHosts: string },
): SignInMode {
  if (given !== null) return given;
  const served = publicUrl !== null && URL.canParse(publicUrl) && !isLoopbackHost(new URL(publicUrl).host);
  return served || /[^\s,]/.test(allowedHosts) ? "always" : "elsewhere";
}

/** Where a request came from, as far as it can be known. */
export type Origin = {
  /** Address of the peer; null = not known, which is not this machine. */
  address: string | null;
  host: string | undefined;
  /** The request says that it was passed on: its peer is a proxy, wherever that runs. */
  forwarded: boolean;
};

/** True when the request needs no sign-in. */
export function isOpen(mode: SignInMode, { address, host, forwarded }: Origin): boolean {
  if (mode !== "elsewhere") return mode === "off";
  return !forwarded && isLoopbackAddress(address) && isLoopbackHost(host);
}

function isLoopbackAddress(address: string | null): boolean {
  return address !== null && /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|^::1$/.test(address);
}

function isLoopbackHost(host: string | undefined): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d*)?$/i.test(host ?? "");
}
