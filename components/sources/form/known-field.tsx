import { TextField } from "@/components/ui/input";

/** How long a repeat or a bounce of an event that has left the store is recognised. */
export function KnownField(props: { text: string; error: string | undefined; onText: (text: string) => void }) {
  const { text, error, onText } = props;
  return (
    <TextField
      label="Known for, days"
      optional
      hint="When an event was removed or has expired, a repeat of it is recognised for this long, and a bounce brings it back. What arrives later is a new event. Choose more days than your broker or its senders may repeat a message. Empty: for good."
      error={error}
      inputMode="numeric"
      inputClassName="max-w-40"
      placeholder="for good"
      value={text}
      onValue={onText}
    />
  );
}
