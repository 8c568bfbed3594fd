/** For questions whose answers may overtake each other: each call begins one, and only the answer to the last one is said. */
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
