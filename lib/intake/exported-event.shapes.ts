import { decode, parsed, parseText, refuse } from "@/lib/intake/read-json.shapes";
import { contradictionOf, type StoredPart, storedStateSchema } from "@/lib/keep/records/stored-state.shapes";
import { type Span, sizeOf } from "@/lib/platform/plain/raw-json.pure";
import { JSON_COLUMN_DEPTH_MAX } from "@/lib/platform/plain/storable.pure";

/** Revisions of one event with their headers hold more values than an envelope. */
const STORED_VALUES_MAX = 100_000;

type StoredOptions = { originText: string; valuesMax: number | undefined };

/** What a line of an export holds beside its event, at `span`; to be called inside `readOrReject`. */
export function readStored(
  bytes: Uint8Array,
  span: Span,
  { originText, valuesMax = STORED_VALUES_MAX }: StoredOptions,
): StoredPart {
  const { depth, values } = sizeOf(bytes, span);
  // Its JSON columns lie in lists of it.
  if (depth > JSON_COLUMN_DEPTH_MAX + 3) refuse("stored", `is nested deeper than ${JSON_COLUMN_DEPTH_MAX + 3}`);
  if (values > valuesMax) refuse("stored", `holds more than ${valuesMax} values`);
  const text = decode(bytes, span);
  const state = parsed(storedStateSchema, parseText(text), "stored");
  const contradiction = contradictionOf(state);
  if (contradiction !== null) refuse(`stored.${contradiction.field}`, contradiction.detail);
  return { state, text, originText };
}
