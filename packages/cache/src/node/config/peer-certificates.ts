/**
 * The files for mutual TLS between nodes: the certificate of this node, its key, and the
 * authorities whose certificates it accepts from neighbours. All three belong together. The files
 * are read again at each reload, so an operator replaces their contents and sends SIGHUP.
 *
 * With them, all neighbours have `https:` addresses, and the peer port speaks TLS. Addresses
 * without a scheme get that one. We refused fleets in which some nodes have certificates: a member
 * without one could pose as any other node, and the certificates of the rest would prove nothing.
 */

import { readFileSync } from 'node:fs';
import { type CertificatePem, checkPem, FleetCertificates } from '@bloomery/transport/http';
import type { WrittenSettings } from './config-sources.ts';
import { isReadableByAll } from './peer-secret.ts';
import type { SettingReader } from './setting-reader.ts';

export interface PeerCertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

const FLAGS = { peerCert: '--peer-cert', peerKey: '--peer-key', peerCa: '--peer-ca' } as const;

/** Reads the names of the files. Null if there are none, or if one of them is missing. */
export function readCertificateFiles(
  reader: SettingReader,
  written: WrittenSettings,
  problems: string[],
): PeerCertificateFiles | null {
  const [certFile, keyFile, caFile] = [
    reader.path('peerCert'),
    reader.path('peerKey'),
    reader.path('peerCa'),
  ];
  if (certFile !== null && keyFile !== null && caFile !== null) return { certFile, keyFile, caFile };
  const given = Object.entries(FLAGS).filter(([key]) => written.has(key));
  const missing = Object.entries(FLAGS).filter(([key]) => !written.has(key));
  if (given.length > 0 && missing.length > 0)
    problems.push(
      `${given.map(([, flag]) => flag).join(' and ')} needs ${missing.map(([, flag]) => flag).join(' and ')} as well: mutual TLS takes all three`,
    );
  return null;
}

/** Reads the files. Throws the file system's error. */
export function readPeerCertificates({ certFile, keyFile, caFile }: PeerCertificateFiles): CertificatePem {
  const read = (file: string) => readFileSync(file, 'utf8');
  return { cert: read(certFile), key: read(keyFile), ca: read(caFile) };
}

/** The certificates of a node at its start, or null if it has none. */
export function peerCertificates(files: PeerCertificateFiles | null): FleetCertificates | null {
  return files === null ? null : new FleetCertificates(readPeerCertificates(files));
}

/**
 * Checks the contents of the files, and returns the name of the node: the one that is given, which
 * the certificate must have, or the first one of the certificate. Null if there is a problem.
 */
export function checkPeerCertificates(
  files: PeerCertificateFiles,
  name: string | null,
  { problems, warnings }: { problems: string[]; warnings: string[] },
): string | null {
  try {
    const pem = readPeerCertificates(files);
    checkPem(pem, name ?? undefined);
    if (isReadableByAll(files.keyFile))
      warnings.push(`every user of this machine can read the key in ${files.keyFile}; chmod 600 ends that`);
    return name ?? new FleetCertificates(pem).names[0]!;
  } catch (error) {
    const { code, message, path } = error as NodeJS.ErrnoException;
    problems.push(`--peer-cert: ${path === undefined ? message : `cannot read ${path}: ${code}`}`);
    return null;
  }
}
