/** An error for the person at the terminal: one sentence with the fix, printed without a stack. */
export class StartError extends Error {
  override name = "StartError";
}

/** The `code` of a Node or PostgreSQL error, or undefined. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** Text of any thrown value. AggregateError (a refused dual-stack connect) has an empty message of its own. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorText(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}

/** The error of a full disk as one sentence; null for any other error. */
export function asFullDisk(error: unknown, dir: string): StartError | null {
  if (errorCode(error) !== "ENOSPC" && errorCode(error) !== "EDQUOT") return null;
  return fullDiskError(dir);
}

export function fullDiskError(dir: string): StartError {
  return new StartError(
    `The disk that holds ${dir} is full: free some space, or set PARKADE_DATA_DIR to a folder on another disk.`,
  );
}

/** Runs a command-line entry: a StartError becomes one line on stderr, anything else keeps its stack; exit code 1. */
export async function runCommand(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    process.stderr.write(error instanceof StartError ? `parkade: ${error.message}\n` : `${stackOf(error)}\n`);
    process.exitCode = 1;
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
