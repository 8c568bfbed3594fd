import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** PEM texts and the files that hold them. The key is PKCS#8. */
type Certificate = { cert: string; key: string; certFile: string; keyFile: string };

export type TestCertificates = {
  /** PEM text of the authority that signed the three. */
  ca: string;
  caFile: string;
  /** For `localhost` and 127.0.0.1. */
  server: Certificate;
  /** A server certificate for another name: `elsewhere.invalid`. */
  wrongName: Certificate;
  /** For a client, whose common name is `parkade-client`. */
  client: Certificate;
  /** PEM text of an authority that signed nothing. */
  otherCa: string;
  /** Removes the files. */
  remove(): void;
};

/** A certificate authority of its own with certificates for TLS tests, valid for a day. Takes openssl 0.1 s. */
export function testCertificates(): TestCertificates {
  const folder = mkdtempSync(join(tmpdir(), "parkade-certificates-"));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const authority = (name: string) => {
    openssl(
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1".split(" "),
      ...["-subj", `/CN=parkade-${name}`, "-keyout", `${name}.key`, "-out", `${name}.pem`],
    );
    return readFileSync(at(`${name}.pem`), "utf8");
  };
  const signed = (name: string, extensions: string): Certificate => {
    openssl(
      ..."req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(" "),
      ...["-subj", `/CN=parkade-${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`],
    );
    writeFileSync(at(`${name}.ext`), extensions);
    openssl(
      ..."x509 -req -days 1 -CA ca.pem -CAkey ca.key -CAcreateserial".split(" "),
      ...["-in", `${name}.csr`, "-extfile", `${name}.ext`, "-out", `${name}.pem`],
    );
    const [certFile, keyFile] = [at(`${name}.pem`), at(`${name}.key`)];
    return { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8"), certFile, keyFile };
  };
  return {
    ca: authority("ca"),
    caFile: at("ca.pem"),
    server: signed("server", "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n"),
    wrongName: signed("wrong-name", "subjectAltName=DNS:elsewhere.invalid\nextendedKeyUsage=serverAuth\n"),
    client: signed("client", "extendedKeyUsage=clientAuth\n"),
    otherCa: authority("other-ca"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
