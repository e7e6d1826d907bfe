/**
 * The names that the certificate of a connection's other end gives to it. A certificate counts if
 * an authority of this node signed it and if it is valid now, which TLS has checked when the
 * connection began (`authorized`). A certificate that does not count gives no names, so a caller
 * that does not ask for the reason still refuses.
 */

import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A DNS name that can be the id of a node. Wildcards are not among them. */
const NAME = /^DNS:([\w](?:[\w.-]{0,126}[\w])?)$/;

const known = new WeakMap<Socket, readonly string[] | null>();

/** The names at the other end of a connection, or null if it has no accepted certificate. */
export function certifiedNames(socket: Socket | null): readonly string[] | null {
  if (!(socket instanceof TLSSocket)) return null;
  let names = known.get(socket);
  if (names === undefined) {
    names = socket.authorized ? namesIn(socket.getPeerCertificate().subjectaltname) : null;
    known.set(socket, names);
  }
  return names;
}

/**
 * The DNS names in a list of alternative names as Node prints it: `DNS:a.example, IP Address:…`.
 * Node puts a name with a comma or a quote in quotes. No such name is a host, so a certificate with
 * one is not from a careful authority and gives no names at all.
 */
export function namesIn(list: string | undefined): readonly string[] {
  if (list === undefined || list.includes('"')) return [];
  return list.split(', ').flatMap((entry) => NAME.exec(entry)?.[1] ?? []);
}
