import type { Frame } from "./frame.pure";
import { isLibraryApplication, isLibraryName, isLibraryPath } from "./libraries.pure";

/** Frames of Elixir and Erlang. */

/** `(shop 0.4.12) lib/shop/pay.ex:41: Shop.Pay.charge/2`. */
export function elixirFrame(text: string): Frame | null {
  const match = /^\(([\w]+)(?: [^)\s]+)?\) (.+)$/.exec(text);
  if (match === null) return null;
  const frame = beamPlace(match[2]!);
  return frame === null ? null : { ...frame, library: frame.library || isLibraryApplication(match[1]!) };
}

/** `lib/shop/pay.ex:41: anonymous fn/1 in Shop.Pay.charge/2`, with or without the file. */
function beamPlace(text: string): Frame | null {
  const match = /^(?:([\w./@-]+\.(?:exs?|erl|eex|heex|hrl)):[0-9]+: )?(\S.*)$/.exec(text);
  if (match === null || !/\/[0-9]+$/.test(match[2]!)) return null;
  const function_ = match[2]!
    .replace(/^(?:anonymous )?fn\/[0-9]+ in /, "")
    .replace(/\.?"?-(?:fun\.)?([\w!?]+)\/[0-9]+-[^"]{0,80}"?\/[0-9]+$/, ".$1/0");
  const library = isLibraryName(function_, "beam") || (match[1] !== undefined && isLibraryPath(match[1]));
  return { name: function_.replace(/\/[0-9]+$/, ""), path: null, library };
}

/** `{shop_pay,charge,2,[{file,"src/shop_pay.erl"},{line,41}]}`. */
export function erlangFrame(text: string): Frame | null {
  const match = /^\[?\{'?([a-z][\w.@]*)'?,'?([\w!?/-]+)'?,\s?(?:[0-9]+|\[.*?),\s?\[/.exec(text);
  if (match === null) return null;
  const name = `${match[1]}:${match[2]!.replace(/^-([\w!?]+)\/.*$/, "$1")}`;
  return { name, path: null, library: isLibraryName(name, "beam") };
}

/** `in function  shop_pay:charge/2 (src/shop_pay.erl, line 41)`, `shop_pay:charge/2 (...)`, `lib/shop/pay.ex:41: Shop...`. */
export function erlangCall(text: string): Frame | null {
  if (!text.includes("/")) return null;
  const call = /^(?:\*\* |=)?(?:in (?:function|call from)\s+)?([a-z]\w*):('?[\w!?/-]+'?)\/[0-9]+(?:\s+\(|,|$)/.exec(
    text,
  );
  if (call) {
    const name = `${call[1]}:${call[2]!.replace(/^'?-?([\w!?]+).*$/, "$1")}`;
    return { name, path: null, library: isLibraryName(name, "beam") };
  }
  return text.includes(".ex") || text.includes(".erl:") ? beamPlace(text) : null;
}
