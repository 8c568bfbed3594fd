import { useEffect, useState } from "react";

/** Long enough that typing a word asks the server once, short enough that the answer seems immediate. */
const SETTLED_MS = 300;

/** The value after it has not changed for a moment. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
