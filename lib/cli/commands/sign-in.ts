import type { Command } from "@/lib/cli/command";

export const SIGN_IN_COMMANDS = [
  {
    name: "login",
    summary: "Sign in to a Parkade, by its console",
    options: [
      { name: "name", value: "name", text: "What the console shows of this program; default: parkade on this machine" },
    ],
    details:
      "Shows an address and a code. Open the address in a browser where you are signed in, compare the code, and confirm: you choose there what the token may do and how long. The token is kept in parkade/credentials.json below XDG_CONFIG_HOME, or ~/.config, which only you may read; each Parkade has its own. PARKADE_TOKEN goes before it. Where nobody must sign in it says so.",
    examples: ["parkade login --url https://parkade.example.com"],
  },
  {
    name: "logout",
    summary: "Revoke the token of `parkade login`, and forget it",
    details: "A token in PARKADE_TOKEN stays as it is.",
    examples: ["parkade logout --url https://parkade.example.com"],
  },
  {
    name: "whoami",
    summary: "Who you are for Parkade, and what you may do",
    details: "Ends with 1 where nobody is signed in.",
    examples: ["parkade whoami", "parkade whoami --json"],
  },
] as const satisfies readonly Command[];
