import { TextField } from "@/components/ui/input";

/** How many events of one group are stored whole in a minute. */
export function StormField(props: {
  text: string;
  error: string | undefined;
  reads: boolean;
  onText: (text: string) => void;
}) {
  const { text, error, reads, onText } = props;
  return (
    <TextField
      label="Storm limit"
      optional
      hint={
        reads
          ? "Events of one group that are stored in a minute. Above it a queue is not read until the next minute; of a log a sample is stored and the rest only counted. Events of an aggregate are always stored. Empty: all are stored."
          : "Events of one group that are stored in a minute. Above it a sample is stored, the rest is only counted and cannot be redriven. Events of an aggregate are always stored. Empty: all are stored."
      }
      error={error}
      inputMode="numeric"
      inputClassName="max-w-40"
      placeholder="no limit"
      value={text}
      onValue={onText}
    />
  );
}
