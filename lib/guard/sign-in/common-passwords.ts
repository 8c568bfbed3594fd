import { dictionary } from "@zxcvbn-ts/language-common";

/**
 * The 49,000 most common passwords, in lower case. A module of its own that is imported at the first use: imported so, the package
 * itself, which is CommonJS, would give the bundled server no names.
 */
export const COMMON_PASSWORDS: readonly string[] = dictionary["passwords-common"];
