/**
 * Sends messages over the connection of the moment, cut into pieces where the server's
 * `max_payload` asks for it. Without a connection nothing is sent.
 */

import type { FleetKeys } from '../fleet-keys.ts';
import { cutIntoPieces, envelopeOverhead } from '../presence/envelope.ts';
import type { Draft, SealedEnvelopes } from '../presence/sealed-envelopes.ts';
import type { Wire } from './nats-client.ts';

export interface SendOptions {
  /** The subject for "no responders", which the receiver does not rely on. */
  readonly reply?: string | undefined;
  /** The keys that sign, by default the first of the keyring. */
  readonly keys?: FleetKeys | undefined;
}

export class EnvelopeSender {
  readonly #seals: SealedEnvelopes;
  readonly #overhead: number;
  readonly #pieceBytes: number;
  /** The connection, or null while there is none. */
  wire: Wire | null = null;

  constructor(seals: SealedEnvelopes, node: string, pieceBytes: number) {
    this.#seals = seals;
    this.#overhead = envelopeOverhead(node);
    this.#pieceBytes = pieceBytes;
  }

  /** Sends a message. Returns false if there is no connection. */
  send(
    subject: string,
    { kind, number, payload }: Pick<Draft, 'kind' | 'number' | 'payload'>,
    { reply, keys }: SendOptions = {},
  ): boolean {
    const { wire } = this;
    if (wire === null || wire.connection.isClosed()) return false;
    const most = Math.min(this.#pieceBytes, wire.maxPayload - this.#overhead);
    const pieces = cutIntoPieces(payload, most);
    for (const [piece, part] of pieces.entries()) {
      const draft = { kind, number, piece, pieces: pieces.length, length: payload.length, payload: part };
      wire.publish(subject, this.#seals.seal(subject, draft, keys), reply);
    }
    return true;
  }
}
