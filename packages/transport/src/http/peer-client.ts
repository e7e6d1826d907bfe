/**
 * The client half of the HTTP adapter towards all neighbours: signed requests over http: and
 * https:, with kept connections for requests and one of its own for each stream.
 */

import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Cancel } from '../clock.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import type { Settle } from '../link/pending-request.ts';
import { MAX_MESSAGE_BYTES } from '../transport.ts';
import { ANSWER_FIELD, answerMac } from './answer-mac.ts';
import { certifiedNames } from './certificates/certified-names.ts';
import type { PeerAddress } from './peer-address.ts';
import { refusalIn } from './refusal.ts';
import { nonceOf, type RequestSigner, SIGNATURE_FIELD } from './signature.ts';

/** For neighbours with https:// addresses. */
export interface TlsOptions {
  /** Certificates that sign those of the neighbours, in PEM. Without it, those that Node trusts. */
  readonly ca?: string | Buffer | undefined;
  /** Certificate and key of this node, in PEM, for neighbours that ask for one. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/** A request to be sent, and the keys that sign it. */
interface Outgoing {
  readonly method: string;
  readonly target: string;
  readonly body: Uint8Array | undefined;
  readonly keys: FleetKeys;
  /** The id of the neighbour, or null if it is not known yet. */
  readonly to: string | null;
}

/** A request that was sent. `nonce` is that of its signature. */
interface Sent {
  readonly request: ClientRequest;
  readonly nonce: string;
}

/** At most four idle connections to a neighbour are kept for later requests. */
const KEPT = { keepAlive: true, maxFreeSockets: 4, scheduling: 'lifo' } as const;

export class PeerClient {
  readonly #signer: RequestSigner;
  /** Whether neighbours prove their names by certificates. */
  readonly isCertified: boolean;
  #tls: TlsOptions;
  readonly #http = new HttpAgent(KEPT);
  #https: HttpsAgent;

  constructor(signer: RequestSigner, tls: TlsOptions = {}, isCertified = false) {
    this.#signer = signer;
    this.isCertified = isCertified;
    this.#tls = tls;
    this.#https = new HttpsAgent({ ...KEPT, ...tls });
  }

  /** Takes other certificates for new connections. Requests that are under way go on. */
  changeTls(tls: TlsOptions): void {
    const before = this.#https;
    this.#tls = tls;
    this.#https = new HttpsAgent({ ...KEPT, ...tls });
    // A connection closes when its request is answered, and at once if it has none.
    before.maxFreeSockets = 0;
    for (const sockets of Object.values(before.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }

  /** Sends a GET on a connection of its own. */
  get(peer: PeerAddress, target: string, keys: FleetKeys): Sent {
    // A stream is asked for before it is known which node is there.
    return this.#send(peer, { method: 'GET', target, body: undefined, keys, to: null });
  }

  /** Sends a POST, and settles with its answer. The result gives it up. */
  post(peer: PeerAddress, question: Omit<Outgoing, 'method'>, settle: Settle): Cancel {
    let sent: Sent;
    let isGivenUp = false;
    const attempt = (isSecond: boolean) => {
      sent = this.#send(peer, { ...question, method: 'POST' });
      const { request, nonce } = sent;
      let hasAnswer = false;
      request.on('response', (response) => {
        hasAnswer = true;
        const names = this.isCertified ? certifiedNames(response.socket) : undefined;
        if (question.to !== null && names !== undefined && !names?.includes(question.to)) {
          response.resume();
          settle({ refused: 'damaged' });
          return;
        }
        this.#readAnswer(response, question.keys, nonce, settle);
      });
      request.on('error', (cause) => {
        // The neighbour may close a kept connection in the moment in which it is used again.
        if (request.reusedSocket && !hasAnswer && !isSecond && !isGivenUp) attempt(true);
        else settle({ refused: 'unreachable', cause });
      });
    };
    attempt(false);
    return () => {
      isGivenUp = true;
      sent.request.destroy();
    };
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #send(peer: PeerAddress, { method, target, body, keys, to }: Outgoing): Sent {
    const field = this.#signer.sign({ method, target, host: peer.host, body, to }, keys);
    const isKept = method === 'POST';
    const options = {
      method,
      host: peer.hostname,
      port: peer.port,
      path: target,
      headers: {
        host: peer.host,
        [SIGNATURE_FIELD]: field,
        ...(body === undefined ? {} : { 'content-length': body.length }),
      },
    };
    const request = peer.isTls
      ? httpsRequest({ ...options, ...this.#tls, agent: isKept ? this.#https : false })
      : httpRequest({ ...options, agent: isKept ? this.#http : false });
    request.end(body);
    return { request, nonce: nonceOf(field) ?? '' };
  }

  #readAnswer(response: IncomingMessage, keys: FleetKeys, nonce: string, settle: Settle): void {
    const isTooLong = Number(response.headers['content-length'] ?? 0) > MAX_MESSAGE_BYTES;
    if (response.statusCode !== 200 || isTooLong) {
      response.resume();
      settle({ refused: isTooLong ? 'size' : refusalIn(response) });
      return;
    }
    const pieces: Buffer[] = [];
    let count = 0;
    response.on('data', (piece: Buffer) => {
      pieces.push(piece);
      count += piece.length;
      if (count > MAX_MESSAGE_BYTES) settle({ refused: 'size' });
    });
    response.on('error', (cause) => settle({ refused: 'unreachable', cause }));
    response.on('end', () => {
      const body = Buffer.concat(pieces);
      const expected = answerMac(keys.response, nonce, 200, body);
      settle(
        response.headers[ANSWER_FIELD] === expected ? { body: new Uint8Array(body) } : { refused: 'damaged' },
      );
    });
  }
}
