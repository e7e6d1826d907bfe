/** An authority of a fleet, made by openssl, that signs certificates for 127.0.0.1. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface IssueOptions {
  /** Days of validity, from now on; below zero for a certificate that has expired. */
  readonly days?: number;
  /** The alternative names. Default: the name of the node, and 127.0.0.1. */
  readonly names?: string;
}

export class TestAuthority {
  readonly #folder: string;
  readonly #name: string;
  #issued = 0;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    openssl('req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`, ...this.#out(name));
  }

  /** The certificate of the authority, in PEM. */
  get pem(): string {
    return readFileSync(join(this.#folder, `${this.#name}.pem`), 'utf8');
  }

  /** Signs a certificate for a node, and returns it and its key in PEM. */
  issue(
    node: string,
    { days = 1, names = `DNS:${node},IP:127.0.0.1` }: IssueOptions = {},
  ): { readonly cert: string; readonly key: string } {
    const base = `${this.#name}-${node}-${this.#issued++}`;
    const request = join(this.#folder, `${base}.csr`);
    const [key, cert] = [join(this.#folder, `${base}.key`), join(this.#folder, `${base}.pem`)];
    const own = join(this.#folder, this.#name);
    openssl(
      ...['req', ...NEW_KEY, '-subj', `/CN=${node}`, '-addext', `subjectAltName=${names}`],
      ...['-keyout', key, '-out', request],
    );
    openssl(
      ...['x509', '-req', '-in', request, '-CA', `${own}.pem`, '-CAkey', `${own}.key`, '-CAcreateserial'],
      ...['-days', String(days), '-copy_extensions', 'copy', '-out', cert],
    );
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  }

  #out(name: string): string[] {
    return ['-keyout', join(this.#folder, `${name}.key`), '-out', join(this.#folder, `${name}.pem`)];
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore' });
}
