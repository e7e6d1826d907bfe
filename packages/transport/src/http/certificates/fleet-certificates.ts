/**
 * The certificate of a node, its key, and the authorities whose certificates it accepts from its
 * neighbours, for mutual TLS. They change while the node runs: an operator renews certificates
 * every few weeks, and an authority every few years.
 *
 * **The name of a node is a DNS name in its certificate** (subject alternative name). We refused
 * URIs such as `spiffe://fleet/node-a`: most authorities, public ones among them, sign DNS names
 * only, and a certificate needs a name for its address anyway. The common name does not count,
 * because authorities do not check it, and a wildcard is not the name of one node.
 *
 * Certificates say who a node is, and TLS hides the messages. The secret of the fleet stays
 * necessary: summaries are hashed, and objects are checked, under keys that are derived from it. So
 * the authority may sign for other programs as well, as that of a company does: a certificate alone
 * does not make its owner a member.
 *
 * An operator changes an authority in three steps, each on all nodes before the next: the new
 * authority is added, each node gets a certificate from the new one, the old authority is removed.
 * Nodes that are one step apart accept each other.
 */

import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Cancel } from '../../clock.ts';
import { namesIn } from './certified-names.ts';

/** The contents of the three files, in PEM. */
export interface CertificatePem {
  /** The certificate of this node, and those between it and its authority. */
  readonly cert: string;
  readonly key: string;
  /** The authorities, one or more. */
  readonly ca: string;
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export class FleetCertificates {
  #pem: CertificatePem;
  readonly #listeners = new Set<() => void>();

  constructor(pem: CertificatePem) {
    checkPem(pem);
    this.#pem = pem;
  }

  /** The certificates that new connections use. */
  get pem(): CertificatePem {
    return this.#pem;
  }

  /** The names that the certificate of this node gives it. There is at least one. */
  get names(): readonly string[] {
    return namesOf(this.#pem.cert);
  }

  /**
   * Replaces certificate, key and authorities, and tells the listeners if any of them has changed.
   * Throws, and changes nothing, if they cannot be used or if `name` is not a name in the
   * certificate.
   */
  change(pem: CertificatePem, name: string): void {
    checkPem(pem, name);
    const { cert, key, ca } = this.#pem;
    this.#pem = pem;
    if (cert === pem.cert && key === pem.key && ca === pem.ca) return;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls the listener after each change. */
  watch(listener: () => void): Cancel {
    const entry = () => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }
}

/**
 * Checks that certificate and key belong together, that the authorities can be read, and that the
 * certificate has the name, or any name if none is given. Throws a `RangeError`.
 */
export function checkPem({ cert, key, ca }: CertificatePem, name?: string): void {
  const refuse = (expected: string, got: string) =>
    new RangeError(`Cannot take the certificates of a node: expected ${expected}, got ${got}`);
  // Node ignores content of `ca` that is no certificate, and then trusts no neighbour.
  const authorities = ca.match(PEM) ?? [];
  if (authorities.length === 0) throw refuse('an authority in PEM', 'no certificate');
  try {
    for (const authority of authorities) new X509Certificate(authority);
    createSecureContext({ cert, key, ca });
  } catch (error) {
    throw refuse('a certificate, its key and authorities in PEM', (error as Error).message);
  }
  const names = namesOf(cert);
  if (names.length === 0) throw refuse('a DNS name as subject alternative name of the certificate', 'none');
  if (name !== undefined && !names.includes(name))
    throw refuse(`the name ${name} among the DNS names of the certificate`, names.join(', '));
}

function namesOf(cert: string): readonly string[] {
  return namesIn(new X509Certificate(cert).subjectAltName);
}
