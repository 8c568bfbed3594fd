/** Neither answer is chosen beforehand: a wrong "yes" makes an effect twice. */
export function RepeatQuestion(props: {
  answer: boolean | null;
  missing: boolean;
  onAnswer: (answer: boolean) => void;
}) {
  const { answer, missing, onAnswer } = props;
  const options = [
    { value: true, text: "Yes: it honours the Idempotency-Key, or does no harm twice" },
    { value: false, text: "No: only a send that found no target is repeated" },
  ];
  return (
    <fieldset className="grid gap-1">
      <legend className="mb-1 font-medium">May a send be repeated automatically?</legend>
      {options.map(({ value, text }) => (
        <label key={text} className="flex items-center gap-2">
          <input type="radio" name="retryable" checked={answer === value} onChange={() => onAnswer(value)} />
          {text}
        </label>
      ))}
      {missing ? (
        <p role="alert" className="text-sm text-danger">
          Choose one: nobody but its owner knows.
        </p>
      ) : null}
    </fieldset>
  );
}
