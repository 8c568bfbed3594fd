import { CONVENTIONS } from "@/lib/brokers/conventions/detect";
import { isConsumerErrorHeader } from "@/lib/brokers/conventions/generic";
import { isRedriveHeader } from "@/lib/brokers/conventions/redrive-mark";
import { isBrokerDeathHeader } from "@/lib/brokers/conventions/x-death";
import type { Header } from "@/lib/intake/dead-letter.pure";

const OWNERS = new Map(CONVENTIONS.map((convention) => [convention.name, convention]));

/**
 * Headers that go back with a redrive: the application's own. Left out are the broker's death records, earlier redrive
 * marks, the error headers Parkade documents, and headers of the convention that was detected when the message was parked.
 * Another framework's names stay: `exception-type` or `original-topic` are words an application may use.
 */
export function stripFailureHeaders(headers: readonly Header[], convention: string | undefined): Header[] {
  const owner = convention === undefined ? undefined : OWNERS.get(convention);
  return headers.filter(([name]) => {
    const key = name.toLowerCase();
    return !(
      isBrokerDeathHeader(key) ||
      isRedriveHeader(key) ||
      isConsumerErrorHeader(key) ||
      (owner?.owns(key) ?? false)
    );
  });
}
