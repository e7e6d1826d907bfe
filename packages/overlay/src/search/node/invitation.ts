/**
 * An invitation: the name and the secret of a group, and where its members meet, as a file that is
 * passed on. Everyone who has it is a member. A member is revoked by a new secret, which the others
 * get: from then on nothing that is sent can be read with the old one.
 */

import { randomBytes } from 'node:crypto';
import { isGroupName } from '@bloomery/transport';
import { SearchError } from '../../directory/search-error.ts';

export interface Invitation {
  readonly group: string;
  readonly secret: Uint8Array;
  /** The NATS server where the members meet, or null if they name each other's addresses. */
  readonly nats: string | null;
  /** The URLs of members' peer ports. */
  readonly peers: readonly string[];
}

const VERSION = 1;
const SECRET_BYTES = 32;
const LEAST_BYTES = 16;
const MOST_PEERS = 1024;

/** A new group, or the old one with a new secret. */
export function newInvitation(invitation: Omit<Invitation, 'secret'>): Invitation {
  if (!isGroupName(invitation.group))
    throw new SearchError(
      'invitation',
      `Cannot invite: expected a group of up to 32 letters a-z, digits and dashes, got ${JSON.stringify(invitation.group)}`,
    );
  return { ...invitation, secret: randomBytes(SECRET_BYTES) };
}

export function invitationText({ group, secret, nats, peers }: Invitation): string {
  const fields = {
    bloomery: 'invitation',
    version: VERSION,
    group,
    secret: Buffer.from(secret).toString('base64url'),
    ...(nats !== null && { nats }),
    ...(peers.length > 0 && { peers }),
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/** Reads an invitation. Throws a `SearchError` of code `invitation`. */
export function readInvitation(text: string): Invitation {
  let fields: Partial<Record<string, unknown>>;
  try {
    fields = JSON.parse(text) ?? {};
  } catch {
    fields = {};
  }
  const { bloomery, version, group, secret, nats = null, peers = [] } = fields;
  const refuse = (expected: string, got: unknown): never => {
    throw new SearchError(
      'invitation',
      `Cannot read an invitation: expected ${expected}, got ${JSON.stringify(got) ?? 'none'}`,
    );
  };
  if (bloomery !== 'invitation') refuse('a file that "bloomery share invite" wrote', bloomery);
  if (version !== VERSION) refuse(`version ${VERSION}`, version);
  if (typeof group !== 'string' || !isGroupName(group)) return refuse('the name of a group', group);
  if (typeof secret !== 'string') return refuse('a secret', typeof secret);
  const bytes = Buffer.from(secret, 'base64url');
  if (bytes.length < LEAST_BYTES) refuse(`a secret of at least ${LEAST_BYTES} bytes`, bytes.length);
  if (nats !== null && typeof nats !== 'string') return refuse('the URL of a NATS server', nats);
  if (!Array.isArray(peers) || peers.length > MOST_PEERS || !peers.every((peer) => typeof peer === 'string'))
    return refuse('a list of URLs', peers);
  return { group, secret: bytes, nats, peers };
}
