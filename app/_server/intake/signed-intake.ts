import type { Deps } from "@/app/_server/deps";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { namesSignature, type SignedIntake } from "@/lib/brokers/http/request";
import { signatureFault } from "@/lib/brokers/http/request-signature";
import { resolveSecrets } from "@/lib/brokers/kinds/config-secrets.shapes";
import { bearerOf } from "@/lib/guard/tokens/token.pure";
import { SIGNATURE_ACTOR } from "@/lib/guard/viewer/actor.pure";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readSourceRules, type SourceRules } from "@/lib/intake/source-rules.read";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { Metric } from "@/lib/platform/plain/prometheus.pure";
import { secretFiles } from "@/lib/platform/secret-files";

/** Requests to a source that were refused for their signature, since this process began. */
export class SignatureCounts {
  private readonly bySource = new Map<string, number>();

  add(source: string): void {
    this.bySource.set(source, (this.bySource.get(source) ?? 0) + 1);
  }

  /** Of the sources that a viewer may see. */
  metric({ sources }: Viewer): Metric {
    const seen = [...this.bySource].filter(([source]) => sources === "all" || sources.includes(source));
    return {
      name: "parkade_unsigned_requests_total",
      help: "Requests that this process refused because a source takes signed ones only.",
      type: "counter",
      samples: seen.map(([source, value]) => ({ labels: { source }, value })),
    };
  }
}

/**
 * The viewer of a request that brings neither session nor token, but a signature for some source: it may send events to the sources that
 * take signed requests, and each of its events is judged by `SignatureGuard`. null = the request names no signature.
 */
export async function signerOf({ headers }: Request, { db }: Deps): Promise<Viewer | null> {
  // Whoever sends a token means to be the account of the token.
  if (bearerOf(headers.get("authorization")) !== null) return null;
  const signer: Viewer = { name: SIGNATURE_ACTOR, means: "signature", sources: "all", actions: ["ingest"] };
  const rules = await readSourceRules(db, signer);
  if (!namesAnySignature(rules, headers)) return null;
  const sources = [...rules].flatMap(([name, { signedConfig }]) => (signedConfig === undefined ? [] : [name]));
  return { ...signer, sources };
}

type SignedBody = { rules: ReadonlyMap<string, SourceRules>; body: Uint8Array };

/** Names of the sources for which the body is signed, sorted. Throws DomainError `not-signed` when it is signed for none. */
export function signedSources({ deps, request }: { deps: Deps; request: Request }, signed: SignedBody): string[] {
  const names = [...signed.rules].flatMap(([name, { signedConfig }]) => {
    if (signedConfig === undefined) return [];
    return signedFault({ deps, request, body: signed.body }, signedConfig) === null ? [name] : [];
  });
  if (names.length === 0) throw notSigned("no source takes the signature");
  return names.sort();
}

/**
 * Guards the sources of one request that take signed requests only. Every event passes `assertSigned` with the name of its
 * own source, however the request names it: as a parameter, a header, an attribute, or in each event.
 */
export class SignatureGuard {
  private readonly deps: Deps;
  private readonly request: Request;
  private readonly rules: ReadonlyMap<string, SourceRules>;
  /** null: the body was not read as a whole, since the request names no signature. */
  private readonly body: Uint8Array | null;
  /** The signature is all that the request has: a source that takes unsigned ones takes it from others. */
  private readonly always: boolean;
  private readonly judged = new Set<string>();

  constructor(
    { deps, request, viewer }: { deps: Deps; request: Request; viewer: Viewer },
    { rules, body }: { rules: ReadonlyMap<string, SourceRules>; body: Uint8Array | null },
  ) {
    this.deps = deps;
    this.request = request;
    this.rules = rules;
    this.body = body;
    this.always = viewer.means === "signature";
  }

  /**
   * Throws DomainError `not-signed` unless the source takes unsigned requests or the request is signed for it. The error is
   * the same for every cause; the log has the cause.
   * `coversEvent`: the body alone says which event it is. The signature does not cover headers.
   */
  assertSigned(source: string, coversEvent: boolean): void {
    const config = this.rules.get(source)?.signedConfig;
    if (config === undefined && this.always) throw notSigned("the source takes no signed requests, or there is none");
    if (config === undefined || this.judged.has(source)) return;
    const { deps, request, body } = this;
    const fault = coversEvent
      ? signedFault({ deps, request, body }, config)
      : "a binary CloudEvent: its attributes are headers";
    if (fault !== null) {
      this.deps.refusedSignatures.add(source);
      throw notSigned(`${source}: ${fault}`);
    }
    this.judged.add(source);
  }
}

/** Why the request is not signed for the source of this configuration; null = it is. */
function signedFault(
  { deps, request, body }: { deps: Deps; request: Request; body: Uint8Array | null },
  config: Readonly<Record<string, unknown>>,
): string | null {
  if (body === null) return "no signature";
  const intake = intakeOf(deps, config);
  if (intake === null) return "a secret of the source cannot be read: set its variable for the web process";
  return signatureFault(intake, { headers: request.headers, body, nowMs: deps.clock.wallMs() });
}

function notSigned(cause: string): DomainError {
  const detail = "This source takes only requests that are signed with one of its secrets, within five minutes";
  return new DomainError("not-signed", detail, {
    internal: new Error(cause),
    headers: { "www-authenticate": 'Signature realm="parkade"' },
  });
}

/** null: a reference cannot be resolved, so nobody can sign. */
function intakeOf({ env }: Deps, config: Readonly<Record<string, unknown>>): SignedIntake | null {
  const stored = { kind: "http", config: { signedIntake: config.signedIntake } as HttpConfig } as const;
  try {
    const { source } = resolveSecrets(stored, {
      variables: process.env,
      listed: env.envReferences,
      files: secretFiles(env.secretFiles),
    });
    return (source.config as HttpConfig).signedIntake ?? null;
  } catch {
    return null;
  }
}

/** Whether a request names the signature of any source: then its body is kept to be judged as a whole. */
export function namesAnySignature(rules: ReadonlyMap<string, SourceRules>, headers: Headers): boolean {
  return [...rules.values()].some(({ signedConfig }) => {
    const intake = signedConfig?.signedIntake as SignedIntake | undefined;
    return intake !== undefined && namesSignature(intake, headers);
  });
}
