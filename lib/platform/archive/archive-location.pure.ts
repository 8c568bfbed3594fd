/** Where the objects of removed events lie. */
export type ArchiveLocation =
  | {
      kind: "folder";
      /** Absolute. */
      path: string;
    }
  | {
      kind: "s3";
      bucket: string;
      /** Of the keys, without a slash at its ends; "" = none. */
      prefix: string;
      /** null = what the environment of the AWS SDK says. */
      region: string | null;
      /** Of a server beside AWS; null = AWS. */
      endpoint: string | null;
      /** The bucket stands in the path of a request, and not in its host. */
      pathStyle: boolean;
    };

const VARIABLE = "PARKADE_ARCHIVE";
const EXAMPLES = "file:///srv/parkade-archive or s3://bucket/prefix?region=eu-central-1";

/** PARKADE_ARCHIVE cannot be used. It may hold a secret by mistake, so the message never repeats it. */
export class ArchiveLocationError extends Error {
  /** What the variable must be, to be read after its name. */
  readonly rule: string;

  constructor(rule: string) {
    super(`${VARIABLE} ${rule}`);
    this.name = "ArchiveLocationError";
    this.rule = rule;
  }
}

/**
 * Reads `file:///folder` or `s3://bucket/prefix?region=&endpoint=&pathStyle=`. With an endpoint the path style is the
 * default, and `us-east-1`, which most servers beside AWS take, the region. Throws ArchiveLocationError.
 */
export function parseArchiveLocation(text: string): ArchiveLocation {
  const scheme = /^(file|s3):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || !URL.canParse(text)) throw new ArchiveLocationError(`must look like ${EXAMPLES}`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new ArchiveLocationError(
      "must not contain credentials: set PARKADE_SECRET_ARCHIVE_KEY_ID and PARKADE_SECRET_ARCHIVE_KEY",
    );
  if (url.hash !== "") throw new ArchiveLocationError("must not contain #: write %23 for one in a name");
  return scheme === "file" ? folderOf(url) : bucketOf(url);
}

function folderOf(url: URL): ArchiveLocation {
  if (url.search !== "")
    throw new ArchiveLocationError("must not contain ? after a folder: write %3F for one in its name");
  if (url.host !== "")
    throw new ArchiveLocationError("must name an absolute folder, with three slashes: file:///folder");
  const path = decoded(url.pathname);
  if (path === "/") throw new ArchiveLocationError("must name a folder below the root: file:///srv/parkade-archive");
  // The path of file:///C:/folder begins with a slash that Windows does not know.
  return { kind: "folder", path: path.replace(/^\/(?=[A-Za-z]:\/)/, "").replace(/\/+$/, "") };
}

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const REGION = /^[a-z0-9-]{1,40}$/;
const PARAMETERS = ["region", "endpoint", "pathStyle"];

function bucketOf(url: URL): ArchiveLocation {
  if (url.port !== "" || !BUCKET.test(url.host))
    throw new ArchiveLocationError(
      "must name a bucket of 3 to 63 letters, digits, dots and hyphens: s3://bucket/prefix",
    );
  const unknown = [...url.searchParams.keys()].filter((name) => !PARAMETERS.includes(name));
  if (unknown.length > 0) throw new ArchiveLocationError(`must have no parameters but ${PARAMETERS.join(", ")}`);
  const endpoint = endpointOf(url.searchParams.get("endpoint"));
  const region = url.searchParams.get("region") || (endpoint === null ? null : "us-east-1");
  if (region !== null && !REGION.test(region))
    throw new ArchiveLocationError("must have a region such as region=eu-central-1");
  const pathStyle = url.searchParams.get("pathStyle") || String(endpoint !== null);
  if (pathStyle !== "true" && pathStyle !== "false")
    throw new ArchiveLocationError("must have pathStyle=true or pathStyle=false");
  const prefix = decoded(url.pathname).replace(/^\/+|\/+$/g, "");
  return { kind: "s3", bucket: url.host, prefix, region, endpoint, pathStyle: pathStyle === "true" };
}

function endpointOf(text: string | null): string | null {
  if (text === null || text === "") return null;
  const rule = "must have an endpoint such as endpoint=https://s3.example.com:9000, with nothing after the host";
  if (!URL.canParse(text)) throw new ArchiveLocationError(rule);
  const { protocol, username, password, pathname, search, hash, origin } = new URL(text);
  if (!/^https?:$/.test(protocol) || pathname !== "/" || username + password + search + hash !== "")
    throw new ArchiveLocationError(rule);
  return origin;
}

function decoded(path: string): string {
  let text: string;
  try {
    text = decodeURIComponent(path);
  } catch {
    throw new ArchiveLocationError("must write % as %25 in a name");
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what no name may hold
  if (/[\u0000-\u001f\u007f]/.test(text) || text.split("/").some((part) => part === "..") || text.includes("//"))
    throw new ArchiveLocationError("must not contain control characters, .. or empty names");
  return text;
}
