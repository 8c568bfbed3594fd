/**
 * The template of a storm: what many message patterns have in common, in the manner of the log parser Drain. A pattern is
 * read as tokens; where the patterns differ, the template has `<*>`, which stands for one token or more.
 *
 *     no answer from wobeku in zone a    no answer from lirato in zone b    ->    no answer from <*> in zone <*>
 */
export type Template = readonly string[];

/** Names the part that varies. */
const VARYING = "<*>";

const SEPARATORS = /([\s:=,;()[\]{}"'`/@|&?]+)/;
const isWord = (token: string) => token !== VARYING && !SEPARATORS.test(token);

/** The separators are tokens as well: joined without anything between them, the tokens are the text. */
export function tokensOf(text: string): string[] {
  return text.split(SEPARATORS).filter((token) => token !== "");
}

/** Whether the tokens of a pattern belong to a template. Takes time in proportion to the product of their lengths. */
export function matchesTemplate(template: Template, tokens: readonly string[]): boolean {
  let [at, place] = [0, 0];
  // Where the last `<*>` stands, and the token behind those that it holds so far.
  let [varying, held] = [-1, 0];
  while (place < tokens.length) {
    if (template[at] === VARYING) {
      [varying, held] = [at, place + 1];
      [at, place] = [at + 1, held];
    } else if (at < template.length && template[at] === tokens[place]) {
      at++;
      place++;
    } else if (varying >= 0) {
      held++;
      [at, place] = [varying + 1, held];
    } else {
      return false;
    }
  }
  return at === template.length;
}

/** The share of their words that two patterns must have in common to be of one template. */
const COMMON_MIN = 0.5;

/** The template of both; null when they have too little in common. */
export function joinTemplates(one: Template, other: Template): Template | null {
  const joined = one.length === other.length ? joinByPlace(one, other) : joinByEnds(one, other);
  const words = (template: Template) => template.filter(isWord).length;
  const common = words(joined);
  const most = Math.max(words(one) + wilds(one), words(other) + wilds(other));
  return common > 0 && common >= COMMON_MIN * most ? joined : null;
}

const wilds = (template: Template) => template.filter((token) => token === VARYING).length;

function joinByPlace(one: Template, other: Template): Template {
  return one.map((token, place) => (token === other[place] ? token : VARYING));
}

/** Of unequal length: the same beginning and the same end, and one varying part between them. */
function joinByEnds(one: Template, other: Template): Template {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  // At least one token of the shorter one is the varying part, which never stands for nothing.
  let head = 0;
  while (head < shorter.length - 1 && shorter[head] === longer[head]) head++;
  let tail = 0;
  while (tail < shorter.length - 1 - head && shorter.at(-1 - tail) === longer.at(-1 - tail)) tail++;
  return [...shorter.slice(0, head), VARYING, ...shorter.slice(shorter.length - tail)];
}

/** More templates of one storm are not looked for: each pattern is compared with each. */
const TEMPLATES_MAX = 50;

type Cluster<Item> = { template: Template; members: Item[] };

/**
 * Sorts patterns into templates: into the first that they match, else into the first with which they have enough in
 * common, else into a new one. `known`: the templates of storms that began before, which are widened; their clusters come first.
 * The order of the items decides nothing.
 */
export function clusterPatterns<Item extends { pattern: string }>(
  items: readonly Item[],
  known: readonly Template[],
): Cluster<Item>[] {
  const clusters: Cluster<Item>[] = known.map((template) => ({ template, members: [] }));
  const sorted = items.toSorted((one, other) => (one.pattern < other.pattern ? -1 : 1));
  for (const item of sorted) {
    const tokens = tokensOf(item.pattern);
    const matching = clusters.find(({ template }) => matchesTemplate(template, tokens));
    if (matching) {
      matching.members.push(item);
      continue;
    }
    const joined = firstJoined(clusters, tokens);
    if (joined) {
      joined.cluster.template = joined.template;
      joined.cluster.members.push(item);
    } else if (clusters.length < known.length + TEMPLATES_MAX) {
      clusters.push({ template: tokens, members: [item] });
    }
  }
  return clusters;
}

function firstJoined<Item>(clusters: readonly Cluster<Item>[], tokens: readonly string[]) {
  for (const cluster of clusters) {
    const template = joinTemplates(cluster.template, tokens);
    if (template !== null) return { cluster, template };
  }
  return null;
}
