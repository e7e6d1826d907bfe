/**
 * Signs and checks the envelopes of the fleet. The mac is HMAC-SHA256, cut to 16 bytes, of the
 * subject and all bytes before it, under a key derived from the fleet's secret. So a NATS user who
 * does not know the secret can neither forge a message, nor move one to another subject, which
 * names the fleet, the node and the topic.
 *
 * A message is accepted once, within 30 s of the receiver's clock. Requests over HTTP have the same
 * rule, and remember nonces in the same way (`NonceMemory`). The mac is compared before the time
 * and the nonce, so an outsider cannot fill that memory. A state in the KV bucket may be of any
 * age; its reader compares life and number with the presence of the node (`state-shelf.ts`).
 *
 * A user of the NATS server who may publish on the subjects of the fleet can still cost the nodes
 * one HMAC per message, and can make a request fail by a false "no responders". Permissions of the
 * server end that.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { NonceMemory } from '../link/nonce-memory.ts';
import {
  decodeEnvelope,
  type Envelope,
  encodeEnvelope,
  type Kind,
  MAC_BYTES,
  peekEnvelope,
  VERSION,
} from './envelope.ts';

/** The reason why an envelope was not taken. */
export type EnvelopeRefusal =
  /** The bytes are no envelope. */
  | 'unreadable'
  /** The envelope has a later version. */
  | 'version'
  /** The sender does not know the secret, or the bytes were changed or moved. */
  | 'signature'
  /** The time of the sender is more than 30 s away. */
  | 'clock'
  /** The envelope came before. */
  | 'replayed';

/** An envelope whose mac is right, and the keys that signed it. */
export interface AcceptedEnvelope {
  readonly envelope: Envelope;
  readonly keys: FleetKeys;
}

export type Opened =
  | AcceptedEnvelope
  /** `envelope` is given if the mac was right. */
  | { readonly refused: EnvelopeRefusal; readonly envelope?: Envelope; readonly keys?: FleetKeys };

/** The parts of an envelope that its sender chooses; the rest is filled in here. */
export interface Draft {
  readonly kind: Kind;
  readonly number: number;
  readonly piece?: number;
  readonly pieces?: number;
  readonly length?: number;
  readonly payload: Uint8Array;
}

export interface SealOptions {
  /** Name and version of the protocol, which every mac covers. */
  readonly protocol: string;
  readonly keyring: FleetKeyring;
  readonly clock: Clock;
  readonly node: string;
  readonly life: string;
}

const WINDOW_MS = 30_000;
/** A node of a fleet of 256 hears about 600 messages a second, and remembers them for 60 s. */
const MAX_NONCES = 65_536;

export class SealedEnvelopes {
  readonly #options: SealOptions;
  readonly #nonces = new NonceMemory(MAX_NONCES);
  #serial = 0;

  constructor(options: SealOptions) {
    this.#options = options;
  }

  /** Signs an envelope for a subject, under the first secret or the given one. */
  seal(subject: string, draft: Draft, keys: FleetKeys = this.#options.keyring.first): Buffer {
    const { clock, node, life } = this.#options;
    const body = encodeEnvelope({
      piece: 0,
      pieces: 1,
      length: draft.payload.length,
      ...draft,
      keyId: keys.id,
      timeMs: Math.floor(clock.now()),
      node,
      life,
      serial: ++this.#serial,
    });
    return Buffer.concat([body, this.#macOf(keys, draft.kind, subject, body)]);
  }

  /** Checks an envelope that came on a subject. */
  open(subject: string, data: Uint8Array): Opened {
    const read = this.openState(subject, data);
    if ('refused' in read) return read;
    const { envelope, keys } = read;
    const now = this.#options.clock.now();
    const { timeMs, life, serial } = envelope;
    if (Math.abs(now - timeMs) > WINDOW_MS) return { refused: 'clock', envelope, keys };
    if (!this.#nonces.take(`${life}${serial}`, timeMs, now - WINDOW_MS))
      return { refused: 'replayed', envelope, keys };
    return read;
  }

  /** Checks the mac alone, for a state that may be old. */
  openState(subject: string, data: Uint8Array): Opened {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const head = peekEnvelope(bytes);
    if (head === null) return { refused: 'unreadable' };
    if (head.version !== VERSION) return { refused: 'version' };
    const keys = this.#options.keyring.find(head.keyId);
    const body = bytes.subarray(0, bytes.length - MAC_BYTES);
    const envelope = keys === undefined ? null : decodeEnvelope(body);
    if (keys === undefined) return { refused: 'signature' };
    if (envelope === null) return { refused: 'unreadable' };
    const expected = this.#macOf(keys, envelope.kind, subject, body);
    if (!timingSafeEqual(expected, bytes.subarray(body.length))) return { refused: 'signature' };
    return { envelope, keys };
  }

  /** Neither a protocol nor a subject has a line break, so no two messages have the same text. */
  #macOf(keys: FleetKeys, kind: Kind, subject: string, body: Uint8Array): Buffer {
    const key = kind === 'request' ? keys.request : keys.response;
    return createHmac('sha256', key)
      .update(`${this.#options.protocol}\n${subject}\n`)
      .update(body)
      .digest()
      .subarray(0, MAC_BYTES);
  }
}
