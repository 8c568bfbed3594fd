/** Secrets that somebody typed, by their places: `config.password`. Nothing where all are references. */
export function PlainSecrets({ places }: { places: readonly string[] }) {
  if (places.length === 0) return null;
  return (
    <p className="text-sm text-warning wrap-anywhere">
      Stored in plain text: <span className="font-mono">{places.join(", ")}</span>. Replace it with a reference:
      env:PARKADE_SECRET_… or file:/…
    </p>
  );
}
