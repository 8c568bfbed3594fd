/** For requests whose answers may overtake each other: only the answer to the latest call is passed on. */
export function newestOnly<Answer>(say: (answer: Answer) => void): () => (answer: Answer) => void {
  let newest = 0;
  return () => {
    newest += 1;
    const own = newest;
    return (answer) => {
      if (own === newest) say(answer);
    };
  };
}
