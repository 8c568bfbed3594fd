type Ranked = {
  name: string;
  /** Other words for it, such as those of other consoles. */
  words?: string;
};

/** How well a command matches the typed text: 0 best; null = no match. */
function rankOf(command: Ranked, typed: string): number | null {
  const name = `${command.name} ${command.words ?? ""}`.toLowerCase();
  const wanted = typed.trim().toLowerCase();
  if (wanted === "" || name.startsWith(wanted)) return 0;
  if (name.split(/\s+/).some((word) => word.startsWith(wanted))) return 1;
  return name.includes(wanted) ? 2 : null;
}

/** A longer text is probably a search, even if a command's name contains it. */
const LOOSE_FROM = 2;

/**
 * The matching commands, best first, in two parts: the commands before the offers to search for the text, and the
 * commands after them. `contr` and Enter opens Controls; `order-77` searches.
 */
export function rankCommands<Command extends Ranked>(
  commands: readonly Command[],
  typed: string,
): { before: Command[]; behind: Command[] } {
  const ranked = commands
    .flatMap((command) => {
      const rank = rankOf(command, typed);
      return rank === null ? [] : [{ command, rank }];
    })
    .sort((a, b) => a.rank - b.rank);
  return {
    before: ranked.filter(({ rank }) => rank < LOOSE_FROM).map(({ command }) => command),
    behind: ranked.filter(({ rank }) => rank >= LOOSE_FROM).map(({ command }) => command),
  };
}
