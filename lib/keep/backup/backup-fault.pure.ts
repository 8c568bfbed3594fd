/** A backup that cannot be written, read or restored. `message` is for the person at the terminal: the fault and the fix. */
export class BackupFault extends Error {
  override name = "BackupFault";
}
