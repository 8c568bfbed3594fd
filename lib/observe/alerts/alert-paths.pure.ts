/** The page of an alert. */
export function alertPath(id: string): string {
  return `/alerts/${id}`;
}

/** The address of a runbook by its name: the console has them all. */
export function runbookAt(publicUrl: string): (name: string) => string {
  return (name) => `${publicUrl}/runbooks/${name}`;
}
