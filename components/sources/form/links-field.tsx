import { Plus, X } from "lucide-react";
import { Button, IconButton } from "@/components/ui/button";
import { formOf } from "@/components/ui/draft-dialog";
import { TextField } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import {
  LINK_KINDS,
  LINKS_MAX,
  type LinkKind,
  type LinkTemplate,
  PLACEHOLDERS,
} from "@/lib/sources/links/source-links.pure";
import type { SourceErrors } from "./source-draft";

const KIND_WORDS: Record<LinkKind, string> = { logs: "Logs", traces: "Traces", other: "Other" };
const KIND_OPTIONS = LINK_KINDS.map((kind) => ({ value: kind, label: KIND_WORDS[kind] }));
const NEW_LINK: LinkTemplate = { label: "", kind: "traces", url: "" };

/** Addresses with placeholders that lead from an event to its log and its trace. */
export function LinksField(props: {
  links: readonly LinkTemplate[];
  errors: SourceErrors;
  onLinks: (links: LinkTemplate[]) => void;
}) {
  const { links, errors, onLinks } = props;
  return (
    <fieldset className="grid grid-cols-[minmax(0,1fr)] gap-3 border-t border-line pt-3">
      <legend className="float-left text-sm font-medium text-muted">
        Logs and traces<span className="font-normal text-faint"> · optional</span>
      </legend>
      <p className="text-sm text-faint">
        Shown on each event and in alert messages. An address may contain{" "}
        {PLACEHOLDERS.map((name, index) => (
          <span key={name}>
            <code className="whitespace-nowrap">{`{${name}}`}</code>
            {index < PLACEHOLDERS.length - 1 ? " " : "; "}
          </span>
        ))}
        from and to are five minutes around the failure.
      </p>
      {links.map((link, index) => {
        const change = (next: LinkTemplate) => onLinks(links.map((other, at) => (at === index ? next : other)));
        const of = { label: errors[`links[${index}].label`], url: errors[`links[${index}].url`] };
        const { text } = formOf(link, change, of);
        return (
          <fieldset
            // A link has nothing that lasts but its place.
            // biome-ignore lint/suspicious/noArrayIndexKey: see above
            key={index}
            aria-label={`Link ${index + 1}`}
            className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-start gap-x-2 gap-y-1.5 sm:grid-cols-[10rem_auto_minmax(0,1fr)_auto]"
          >
            <TextField {...text("label")} label="Label" placeholder="Trace" />
            <SelectField {...text("kind")} label="Leads to" options={KIND_OPTIONS} />
            <TextField
              {...text("url")}
              label="Address"
              className="order-last col-span-full sm:order-none sm:col-span-1"
              inputClassName="font-mono text-sm"
              placeholder="https://jaeger.example/trace/{traceId}"
            />
            <IconButton
              label={`Remove link ${index + 1}`}
              className="mt-[1.375rem]"
              onClick={() => onLinks(links.filter((_, other) => other !== index))}
            >
              <X size={14} aria-hidden />
            </IconButton>
          </fieldset>
        );
      })}
      {errors.links ? <p className="text-sm text-danger">{errors.links}</p> : null}
      {links.length < LINKS_MAX ? (
        <Button size="sm" className="justify-self-start" onClick={() => onLinks([...links, NEW_LINK])}>
          <Plus size={13} aria-hidden /> Add a link
        </Button>
      ) : null}
    </fieldset>
  );
}
