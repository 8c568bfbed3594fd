import * as z from "zod/mini";
import { boundedText, nullableText } from "@/lib/platform/api/schemas.shapes";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import {
  LINK_CHARS_MAX,
  LINK_KINDS,
  LINKS_MAX,
  type LinkTemplate,
  templateFaults,
} from "@/lib/sources/links/source-links.pure";

const LABEL_MAX = 40;

const kind = z.enum(LINK_KINDS, `must be ${LINK_KINDS.slice(0, -1).join(", ")} or ${LINK_KINDS.at(-1)}`);

export const linkTemplatesSchema = z
  .array(z.strictObject({ label: boundedText(LABEL_MAX), kind, url: boundedText(LINK_CHARS_MAX) }), "must be a list")
  .check(z.maxLength(LINKS_MAX, `at most ${LINKS_MAX} links`));

/** A link of one event. `url` null: `lacks` says why there is none. */
export const eventLinkSchema = z.object({ label: z.string(), kind, url: nullableText, lacks: nullableText });

export const madeLinkSchema = z.object({ label: z.string(), kind, url: z.string() });

/** Throws DomainError `invalid-config` for templates that make no address, each fault at its field. */
export function assertTemplates(templates: readonly LinkTemplate[] | undefined): void {
  const fields = templateFaults(templates ?? []).map(
    ({ at, field, detail }): FieldError => ({ field: `links[${at}].${field}`, detail }),
  );
  if (fields.length === 0) return;
  throw new DomainError("invalid-config", `${fields[0]!.field} ${fields[0]!.detail}`, { fields });
}
