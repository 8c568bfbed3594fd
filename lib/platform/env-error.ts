/** The environment cannot be used. `message` has one sentence for each variable: its name, the fault and the fix. */
export class EnvError extends Error {
  constructor(problems: string[]) {
    super(problems.join("\n"));
    this.name = "EnvError";
  }
}
