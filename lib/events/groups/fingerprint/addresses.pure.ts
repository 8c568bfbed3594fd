import { sourcePath } from "./source-path.pure";
import { foldToken, isDigit, isValue } from "./words.pure";

/** Tokens with dots, colons, slashes or an `@`: hosts, URLs, paths, e-mail addresses, names of a program. */

const DATA_FILE =
  /\.(?:csv|tsv|xlsx?|pdf|docx?|pptx?|txt|log|png|jpe?g|gif|webp|svg|heic|tiff?|mp[34]|mov|avi|wav|zip|gz|tgz|tar|bz2|zst|7z|parquet|avro|orc|ndjson|jsonl|edi|dat|bak|tmp|eml|ics|part|sql)$/i;
/** Longer endings belong to no data file, and most chunks with a dot are names of a program. */
const isDataFile = (text: string) => text.length - text.lastIndexOf(".") < 9 && DATA_FILE.test(text);
const SOURCE_FILE =
  /\.(?:[cm]?[jt]sx?|py|pyx|rb|php|go|rs|java|kts?|scala|cs|fs|vb|exs?|erl|dart|cpp|cc|hpp|swift|lua|p[lm]|html|css|scss|less|jade|pug|ejs|hbs|twig|blade|vue|ya?ml|json|toml|ini|conf|cfg|properties|env|pem|crt|key|so|dll|jar|war|class|xsd|xml|wsdl|proto|avsc|graphql|md|map|wasm|node|tpl|mustache|liquid)(?:\?\w+)?$/i;

/** Data when its name is a value, else the configuration of a program. */
const DOCUMENT = /\.(?:json|xml|html|ya?ml)$/i;

const TOP_LEVEL = new Set(
  "com net org io dev cloud internal local localdomain lan corp intranet example invalid test edu gov mil int biz svc arpa uk de fr nl pl es eu ch at it be jp cn br au ru se dk fi cz pt gr hu ro tr kr us ca nz sg hk tw in ie no za mx ar shop store online app ai".split(
    " ",
  ),
);
/** Endings that are also everyday words of programs: a host needs three labels with them. */
const ALSO_WORDS = new Set("test local int at it be in no is app shop store us io dev example net es ai".split(" "));
const NO_HOST = /^(?:asp|vb|ado)\.net$|^(?:socket|engine|web)\.io$|^[\w-]+\.pl$/i;
const PACKAGE = /^(?:com|org|net|io|de|fr|uk|nl|dev|eu|me|java|javax|jakarta|kotlin|scala|akka|app|ch|br)\./;

function isHost(token: string): boolean {
  const last = token.slice(token.lastIndexOf(".") + 1);
  if (last.length > 12 || !TOP_LEVEL.has(last.toLowerCase()) || NO_HOST.test(token)) return false;
  const labels = token.split(".");
  if (labels.length < 2) return false;
  if (labels.length < 3 && ALSO_WORDS.has(last)) return false;
  return (
    !(PACKAGE.test(token) && labels.length > 2 && /[A-Z]/.test(token)) &&
    labels.every((label) => /^[A-Za-z0-9-]+$/.test(label))
  );
}

const EMAIL = /^[\w.+~%-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}$/;
const IPV4 = /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$/;
const IPV6 = /^(?=[^.]*:[0-9a-fA-F:]*:)[0-9a-fA-F:]{2,39}(?:(?:\.|:)[0-9.]{7,15})?(?:%[\w]+)?(?:\/[0-9]{1,3})?$/;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const ISO_DURATION = /^-?P(?:[0-9]+[YMWD])*(?:T(?:[0-9]+(?:\.[0-9]+)?[HMS])+)?$/;

/** A token as written in a pattern: the words of a name stay, values are replaced. */
export function foldChunk(chunk: string): string {
  const archive = chunk.indexOf(".jar!/");
  if (archive > 0) return `<path>.jar!/${foldChunk(chunk.slice(archive + 6))}`;
  if (chunk.startsWith("file:/"))
    return `file:${foldPath(chunk.slice(5).replace(/^\/+(?:(?=[A-Za-z]:\/)|(?=\/))/, ""))}`;
  if (chunk.includes("://")) return foldUrl(chunk);
  const first = chunk.charCodeAt(0);
  if ((first === 97 || first === 65) && /^arn:aws[\w-]*:s3:/i.test(chunk)) return "<arn>";
  if (chunk.length === 36 && UUID.test(chunk)) return "<uuid>";
  if (isSealed(chunk)) return "<id>";
  if ((first === 80 || first === 45) && chunk.length > 2 && ISO_DURATION.test(chunk)) return "<duration>";
  if (chunk.includes("@")) return foldAt(chunk);
  const hash = chunk.indexOf("#");
  if (hash > 0) return `${foldChunk(chunk.slice(0, hash))}#${foldIdentity(chunk.slice(hash + 1))}`;
  if (chunk.includes("/") || chunk.includes("\\")) return foldPath(chunk);
  if (chunk.includes(":")) return foldColons(chunk);
  if (chunk.includes(".")) return foldDots(chunk);
  return foldToken(chunk);
}

/** Keys, tokens and handles: long, of both cases and digits, without the dots of a name. */
function isSealed(chunk: string): boolean {
  if (chunk.startsWith("eyJ")) return true;
  if (chunk.length < 24 || chunk.startsWith("/")) return false;
  if (!/[0-9]/.test(chunk) || !/^[A-Za-z0-9+/_=-]+$/.test(chunk)) return false;
  if (!/[a-z]/.test(chunk) || !/[A-Z]/.test(chunk)) return false;
  return chunk.length >= 40 || chunk.includes("+") || !chunk.includes("/");
}

function foldAt(chunk: string): string {
  if (EMAIL.test(chunk)) return "<email>";
  const at = chunk.lastIndexOf("@");
  if (at === 0) return `@${foldChunk(chunk.slice(1))}`;
  const name = foldChunk(chunk.slice(0, at));
  const rest = chunk.slice(at + 1);
  return `${name}@${foldIdentity(rest)}`;
}

/** The identity of an object, at times only letters: `Order@1b2c3d4`, `FormState#3ebc0`. */
const foldIdentity = (text: string) => (/^[0-9a-f]{4,16}$/.test(text) ? "<id>" : foldChunk(text));

const ANNOUNCES_CODE = /^(?:error|err|code|errno|status|exit|sqlstate|statuscode|http|signal)$/i;

/** `redis-0.redis:6379`: a pod of Kubernetes and its service. */
const OF_STATEFUL_SET = /^[a-z][a-z0-9-]*-[0-9]{1,3}(?:\.[a-z][a-z0-9-]*)+:[0-9]{2,5}$/;
/** The id that BullMQ gives a repeated job. */
const REPEATED_JOB = /^repeat:[0-9a-f]{8,}:[0-9]+$/;

/** Parts of a cache key before the name of one person: `session:user:zoe`. */
const OF_PERSON = /^(?:users?|customers?|session|id|username|email|host|tenant)$/i;

function foldColons(chunk: string): string {
  if (IPV6.test(chunk)) return "<addr>";
  if (/^(?:arn|urn):/i.test(chunk)) return "<arn>";
  if (OF_STATEFUL_SET.test(chunk)) return "<host>";
  if (REPEATED_JOB.test(chunk)) return "<id>";
  const pieces = chunk.split(":");
  let folded = "";
  for (const [at, piece] of pieces.entries()) {
    if (at > 0 && /^[0-9]{1,5}$/.test(piece) && /<(?:host|addr|id)>$/.test(folded)) continue;
    // Azure Service Bus: the namespace, before the queue.
    if (at === 1 && pieces[0] === "SystemTracker") {
      folded += ":<id>";
      continue;
    }
    if (at === pieces.length - 1 && OF_PERSON.test(pieces[at - 1] ?? "") && piece !== "") {
      folded += ":<id>";
      continue;
    }
    if (at > 0 && ANNOUNCES_CODE.test(pieces[at - 1]!) && /^-?[0-9A-Z]{1,8}$/.test(piece)) {
      folded += `:${piece}`;
      continue;
    }
    folded += (at === 0 ? "" : ":") + (piece === "" ? "" : piece.includes(".") ? foldDots(piece) : foldToken(piece));
  }
  return folded;
}

function foldDots(chunk: string): string {
  if (isDigit(chunk.charCodeAt(0)) && IPV4.test(chunk)) return "<addr>";
  if (isHost(chunk)) return "<host>";
  if (/^v?[0-9]+(?:\.[0-9A-Za-z-]+)+$/.test(chunk)) return /^v[0-9]+\.[A-Z][a-z]/.test(chunk) ? chunk : "<n>";
  if (isDataFile(chunk)) return `<file>${chunk.slice(chunk.lastIndexOf("."))}`;
  if (/^(?:TLS|SSL)v[0-9](?:\.[0-9])?$/.test(chunk)) return chunk;
  return chunk
    .split(".")
    .map((piece) => (piece.startsWith("$") ? `$${foldToken(piece.slice(1))}` : foldToken(piece)))
    .join(".");
}

/** The scheme and the route of a URL: its host, query, fragment and the ids in its path are values. */
function foldUrl(url: string): string {
  const scheme = url.slice(0, url.indexOf("://"));
  const colon = scheme.lastIndexOf(":");
  if (colon > 0) return `${foldChunk(url.slice(0, colon))}:${foldUrl(url.slice(colon + 1))}`;
  const rest = url.slice(scheme.length + 3);
  const slash = rest.indexOf("/");
  const path = slash < 0 ? "" : rest.slice(slash).split(/[?#]/, 1)[0]!;
  const host = slash < 0 ? rest : rest.slice(0, slash);
  const stored = OBJECT_SCHEME.test(scheme) || OBJECT_HOST.test(host);
  const folded = stored ? foldKey(path) : ACTORS.test(scheme) ? foldPointer(path) : foldRoute(path);
  return `${scheme.toLowerCase()}://<host>${path === "" || path === "/" ? "" : folded}`;
}

/** Stores of objects: the path of a URL is the key of one object. */
const OBJECT_SCHEME = /^(?:s3[an]?|gs|oss|cos|wasbs?|abfss?)$/i;
const OBJECT_HOST =
  /(?:^|\.)(?:s3[.-](?:[\w-]+\.)?amazonaws\.com|storage\.googleapis\.com|blob\.core\.windows\.net|r2\.cloudflarestorage\.com)$/i;

/** Of Akka and Pekko. */
const ACTORS = /^(?:akka|pekko)(?:\.tcp|\.ssl\.tcp)?$/;

/** A JSON pointer or the path of an actor: the steps are names. */
export const foldPointer = (path: string) =>
  path
    .split("/")
    .map((step) => (step.startsWith("$") || isValue(step) ? "<id>" : step))
    .join("/");

/** The first folder of a key, which begins with a slash, and its ending. */
export function foldKey(key: string): string {
  const file = key.slice(key.lastIndexOf("/") + 1);
  return foldDataPath(file.includes(".") ? key : `${key}.`, "/").replace(/\.$/, "");
}

/** Steps of a route that are followed by the name or id of one thing. */
const ONE_OF =
  /^(?:user|order|customer|product|item|account|invoice|file|page|article|post|category|tag|lookup|slug|by-?[a-z]+|name|names|tenant|project|bucket|key|search|image|img|img|blob|object|o|b|u|p|document|doc|member|shop|store|city|country|status|topic|queue|topics|queues)$/i;
const NO_COLLECTION =
  /(?:ss|us|is|status|news|address|process|access|success|express|aws|https|dns|sms|gps|cms|analytics|payments?-?service)$/i;
/** Steps behind a collection that name an action and not a member of it. */
const ACTION =
  /^(?:search|count|batch|bulk|query|export|import|sync|validate|create|update|delete|cancel|refund|capture|confirm|status|health|me|new|list|all|stats|events|webhooks?|publish|ack|send|v[0-9]+)$/i;

const isCollection = (step: string) =>
  ONE_OF.test(step) || (step.length > 3 && /[a-z]s$/i.test(step) && !NO_COLLECTION.test(step));

function foldRoute(path: string): string {
  if (isDataFile(path)) return foldDataPath(path, "/");
  let folded = "";
  let ofCollection = false;
  for (const step of path.split(/[?#]/, 1)[0]!.split("/").slice(1)) {
    if (step === "") continue;
    const value = isValue(step) || step.startsWith("$") || step.includes("%") || step.length > 40;
    if (value || (ofCollection && !ACTION.test(step))) {
      folded += "/<id>";
      ofCollection = false;
    } else {
      folded += `/${step}`;
      ofCollection = isCollection(step);
    }
  }
  return folded;
}

/** The first folder and the ending: what lies between them and the name of a data file varies. */
function foldDataPath(path: string, separator: string): string {
  const steps = path.split(separator);
  const first = steps.find((step) => step !== "" && !step.endsWith(":")) ?? "";
  const ending = path.slice(path.lastIndexOf(".")).toLowerCase();
  const start = path.startsWith(separator) ? separator : "";
  const folder =
    steps.length > 2 && !isValue(first) && !/^(?:home|users|root|tmp|mnt|var|opt|srv|data|app)$/i.test(first)
      ? `${first}${separator}`
      : "";
  return `${start}${folder}<path>${ending}`;
}

/** Numbers and hashes in the names of files and folders are values, as in `peers/peer17.conf`. */
function foldSource(path: string): string {
  return path
    .split("/")
    .map((step) =>
      step
        .split(".")
        .map((part) => (part.startsWith("<") ? part : foldToken(part)))
        .join("."),
    )
    .join("/");
}

/** `projects/acme/zones/eu-west1/instances/web`: collections, each followed by the name of a member. */
const RESOURCE = /^[a-z]{3,}s(?:\/[\w-]+\/[a-zA-Z]{3,}s)+\/[\w-]+$/;

/** Starts of file paths, as opposed to server routes: these folders belong to one machine. */
const FILES = /^(?:\/(?:home|Users|opt|usr|var|etc|srv|mnt|media|root|private|run|Library|Volumes)\/|[A-Za-z]:[/\\])/;

/** A Java socket: `orders-db/10.0.0.7:5432`, `/10.0.0.7`. */
const SOCKET = /^[\w.-]*\/[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]{1,5})?$/;

/** The name of a program identifies it, wherever it is installed. */
const PROGRAM = /(?:^|[/\\])s?bin[/\\]([\w-]+)$/;

function foldPath(chunk: string): string {
  const separator = chunk.includes("/") ? "/" : "\\";
  if (/^HTTP\/[0-9](?:\.[0-9])?$/.test(chunk)) return chunk;
  if (SOCKET.test(chunk)) return "<addr>";
  const rooted = chunk.startsWith(separator) || /^(?:\.{1,2}[/\\]|[A-Za-z]:[/\\])/.test(chunk);
  const colon = chunk.search(/:[0-9]+(?::[0-9]+)?$/);
  if (colon > 0 && rooted) return `${foldPath(chunk.slice(0, colon))}:<n>`;
  const program = PROGRAM.exec(chunk)?.[1];
  if (program !== undefined) return foldToken(program);
  if (isDataFile(chunk)) return foldDataPath(chunk, separator);
  if (DOCUMENT.test(chunk)) {
    const file = chunk.slice(chunk.lastIndexOf(separator) + 1);
    if (isValue(file.slice(0, file.lastIndexOf(".")))) return foldDataPath(chunk, separator);
  }
  if (rooted && SOURCE_FILE.test(chunk)) return foldSource(sourcePath(chunk.split("?", 1)[0]!));
  if (/^\/(?:tmp|var\/tmp|var\/folders|private\/var|proc|dev\/shm)\//.test(chunk))
    return `${chunk.split("/", 2).join("/")}/<path>`;
  if (FILES.test(chunk)) {
    const steps = chunk.split(/[/\\]/).filter((step) => step !== "");
    return `/<path>${steps.length < 3 ? "" : `/${foldChunk(steps.at(-1)!)}`}`;
  }
  if (chunk.startsWith("/")) return foldRoute(chunk) || "/";
  if (RESOURCE.test(chunk)) return foldRoute(`/${chunk}`).slice(1);
  // Base 64 has a `/` now and then.
  if (/[0-9]/.test(chunk) && /[A-Z]{2}[a-z]+[A-Z]|[a-z][A-Z][a-z]?[A-Z]/.test(chunk)) return "<id>";
  return chunk
    .split(separator)
    .map((step) => (step === "" ? "" : foldChunk(step)))
    .join(separator);
}
