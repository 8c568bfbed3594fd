import Link from "next/link";
import { MARK_DETAIL, MARK_WORDS, ruleHref } from "@/components/intake/admission/mark-words";
import { TextLink } from "@/components/ui/text-link";
import type { EventDetail, EventOut } from "@/lib/events/events.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { isParked } from "@/lib/states/event-state.pure";

/** The mark of admission beside an error code; nothing without one. */
export function AdmissionMark({ event }: { event: Pick<EventOut, "admission"> }) {
  if (event.admission === null) return null;
  return <span className="font-sans text-sm font-normal text-warning"> {MARK_WORDS[event.admission]}</span>;
}

/** What the mark of a parked event means for its redrive. */
export function AdmissionNote({ event }: { event: EventDetail }) {
  if (event.admission === null || !isParked(event.status)) return null;
  // An older version is marked without a rule, whatever rules have matched it.
  const rules = event.admission === "superseded" ? [] : (event.admitted?.rules ?? []);
  return (
    <p className="border-b border-line px-3 py-1.5 text-muted wrap-anywhere">
      <strong className="font-medium text-warning">{upper(MARK_WORDS[event.admission])}.</strong>{" "}
      {event.admitted?.finding ? `${upper(event.admitted.finding)}. ` : null}
      {MARK_DETAIL[event.admission]}{" "}
      {rules.length === 0 ? (
        <Link href="/admission" prefetch={false} className="text-accent underline">
          See admission
        </Link>
      ) : null}
      {rules.length === 0 ? null : rules.length > 1 ? "Marked by one of the rules " : "Marked "}
      {rules.map(({ id, name }, index) => (
        <span key={id}>
          {index > 0 ? ", " : ""}
          <Link href={ruleHref(id)} prefetch={false} className="text-accent underline">
            {rules.length > 1 ? visible(name) : `by the rule ${visible(name)}`}
          </Link>
        </span>
      ))}
    </p>
  );
}

/** What the rules of admission did to an event, one line each. */
export function AdmissionLines({ admitted }: { admitted: NonNullable<EventDetail["admitted"]> }) {
  const { rules, arrivedAs, group, finding, failed } = admitted;
  return (
    <ul className="grid gap-1">
      {rules.map(({ id, name, version }) => (
        <li key={id} className="wrap-anywhere">
          <TextLink href={ruleHref(id)}>{visible(name)}</TextLink> <span className="text-muted">version {version}</span>
        </li>
      ))}
      {arrivedAs === undefined ? null : (
        <li className="wrap-anywhere">
          arrived as <bdi className="font-mono text-sm">{visible(arrivedAs)}</bdi>
        </li>
      )}
      {group === undefined ? null : <li className="wrap-anywhere">grouped as “{visible(group)}”</li>}
      {finding === undefined ? null : <li className="wrap-anywhere">{upper(finding)}.</li>}
      {failed?.map(({ id, name, fault }) => (
        <li key={id} className="wrap-anywhere text-danger">
          the rule{" "}
          <Link href={ruleHref(id)} prefetch={false} className="underline">
            {visible(name)}
          </Link>{" "}
          could not be applied: {visible(fault)}
        </li>
      ))}
    </ul>
  );
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
