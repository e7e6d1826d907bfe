/**
 * The port over HTTP/1.1. The server half is `handle`, which a node mounts on the server of its
 * peer port. The client half keeps a stream open to each neighbour and sends requests on kept
 * connections. docs/spec/peer-protocol.md specifies both.
 *
 * Requests, answers and frames are signed, so a middleman can only cut connections. There is no
 * limit on how often a neighbour asks for full states: the service of that topic knows which
 * requests are costly.
 *
 * A request that is meant for another node is refused, so that it cannot be replayed here: its
 * signature names that node, or its Host field is the address of a neighbour which has said hello
 * under another id. A request for a stream names no node. It can be replayed at a node that does
 * not know the intended receiver. That node answers with its summaries, which tell nothing without
 * the secret.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Cancel, type Clock, systemClock } from '../clock.ts';
import { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { newLife } from '../link/new-life.ts';
import { PeerList } from '../link/peer-list.ts';
import { PendingRequests, requestError } from '../link/pending-request.ts';
import { Services } from '../link/services.ts';
import {
  checkMessageSize,
  checkTopic,
  MAX_MESSAGE_BYTES,
  type Peer,
  type PeerIdentity,
  type RequestOptions,
  type Service,
  type Subscription,
  type Transport,
} from '../transport.ts';
import { certifiedNames } from './certificates/certified-names.ts';
import type { FleetCertificates } from './certificates/fleet-certificates.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { HttpLink, type LinkContext } from './http-link.ts';
import { peerAddress } from './peer-address.ts';
import { PeerClient, type TlsOptions } from './peer-client.ts';
import { refuse, signatureCode } from './refusal.ts';
import { RequestServer } from './request-server.ts';
import { type AcceptedRequest, RequestSigner, RequestVerifier, SIGNATURE_FIELD } from './signature.ts';
import { StreamServer } from './stream-server.ts';
import { ASK_PATH, PEER_PATHS, readStreamQuery, STREAM_PATH } from './stream-target.ts';

export interface HttpTransportOptions {
  /** The name of this node, unique in the fleet. */
  readonly id: string;
  /**
   * The secret of the fleet: at least 16 random bytes, the same on all nodes. A keyring holds one
   * or two, and may change later.
   */
  readonly secret: Uint8Array | FleetKeyring;
  /**
   * The URLs of the neighbours' peer ports, which `changePeers` replaces. Some of them may lead to
   * this node, or to one node by two ways.
   */
  readonly peers: readonly string[];
  readonly clock?: Clock | undefined;
  readonly tls?: TlsOptions | undefined;
  /**
   * Certificates for mutual TLS, which may change later. With them, all neighbours have https:
   * addresses, and the caller's server asks for certificates (`requestCert`) and leaves their
   * refusal to `handle` (`rejectUnauthorized: false`), so that a neighbour learns the reason.
   * Default: none, and the signature alone says which node asks.
   */
  readonly certificates?: FleetCertificates | null | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
}

/** A node to ask. */
interface AskedNode {
  readonly address: string;
  /** The id of the node, or null if it is not known yet. */
  readonly id: string | null;
  /** The keys that sign. */
  readonly keys: FleetKeys;
}

export class HttpTransport implements Transport {
  readonly self: PeerIdentity;
  readonly #peers: PeerList;
  readonly #links = new Map<string, HttpLink>();
  /** The addresses of the neighbours by their Host fields. */
  readonly #hosts = new Map<string, string>();
  readonly #linkContext: LinkContext;
  readonly #client: PeerClient;
  readonly #verifier: RequestVerifier;
  readonly #services: Services;
  readonly #requests: PendingRequests;
  readonly #streamServer: StreamServer;
  readonly #requestServer: RequestServer;
  readonly #stopWatching: Cancel;
  #isLeaving = false;
  #isClosed = false;

  constructor(options: HttpTransportOptions) {
    const { id, secret, peers, clock = systemClock, certificates = null } = options;
    const limits = { ...HTTP_LIMITS, ...options.limits };
    const isCertified = certificates !== null;
    if (certificates !== null && !certificates.names.includes(id))
      throw new RangeError(
        `Cannot take part in a fleet: expected the name ${id} in the certificate, got ${certificates.names.join(', ')}`,
      );
    const keyring = FleetKeyring.of(secret);
    const life = newLife(clock);
    this.self = { id };
    const signer = new RequestSigner(keyring, id, clock);
    this.#client = new PeerClient(signer, certificates?.pem ?? options.tls, isCertified);
    this.#verifier = new RequestVerifier(keyring, clock, { id, isCertified });
    this.#services = new Services(limits.requestsPerNode);
    this.#requests = new PendingRequests(clock);
    this.#streamServer = new StreamServer({ node: id, life, keyring, clock, limits });
    this.#requestServer = new RequestServer(this.#services, limits);
    this.#peers = new PeerList(clock, []);
    this.#linkContext = {
      clock,
      selfId: id,
      life,
      client: this.#client,
      keyring,
      peers: this.#peers,
      limits,
      twinOf: (self, node, nodeLife) => {
        for (const link of this.#links.values())
          if (link !== self && link.leadsTo(node, nodeLife)) return link.address;
        return null;
      },
    };
    this.changePeers(peers);
    const stopWatchingKeys = keyring.watch(() => {
      this.#streamServer.keysChanged();
      for (const link of this.#links.values()) link.keyringChanged();
    });
    const stopWatchingCertificates = certificates?.watch(() => {
      this.#client.changeTls(certificates.pem);
      this.#streamServer.renew();
      for (const link of this.#links.values()) link.renew();
    });
    this.#stopWatching = () => {
      stopWatchingKeys();
      stopWatchingCertificates?.();
    };
  }

  peers(): readonly Peer[] {
    return this.#peers.all();
  }

  /**
   * Takes other neighbours. Links to those that are no longer among them end, and their
   * subscriptions with them; links to those that stay go on. Throws before it changes anything if
   * an address is no URL of a port.
   */
  changePeers(peers: readonly string[]): void {
    const wanted = new Map([...new Set(peers)].map((address) => [address, peerAddress(address)]));
    if (this.#isClosed) return;
    for (const [address, link] of [...this.#links]) {
      if (wanted.has(address)) continue;
      this.#links.delete(address);
      link.close();
      this.#peers.remove(address);
    }
    this.#hosts.clear();
    for (const [address, peer] of wanted) {
      this.#hosts.set(peer.host, address);
      if (this.#links.has(address)) continue;
      this.#links.set(address, new HttpLink(peer, this.#linkContext));
      this.#peers.add(address);
    }
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    return this.#peers.watch(listener);
  }

  publish(topic: string, message: Uint8Array): void {
    checkTopic(topic);
    checkMessageSize(message);
    if (!this.#isClosed && !this.#isLeaving) this.#streamServer.publish(topic, message);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    checkTopic(topic);
    this.#peers.other(peer);
    return this.#links.get(peer)!.subscribe(topic, on);
  }

  async request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    const { id } = this.#peers.other(peer);
    const { keys } = this.#links.get(peer)!;
    return this.ask({ address: peer, id, keys }, { topic, body, ...options });
  }

  /**
   * Asks a node that need not be a neighbour of this transport: another adapter has found it, and
   * uses this one for requests alone.
   */
  async ask(
    { address, id: to, keys }: AskedNode,
    { topic, body, ...options }: RequestOptions & { readonly topic: string; readonly body: Uint8Array },
  ): Promise<Uint8Array> {
    checkTopic(topic);
    if (body.length > MAX_MESSAGE_BYTES) throw requestError('size', address);
    const target = `${ASK_PATH}?topic=${topic}`;
    return this.#requests.run(address, options, (settle) =>
      this.#client.post(peerAddress(address), { target, body, to, keys }, settle),
    );
  }

  serve(topic: string, answer: Service): Cancel {
    checkTopic(topic);
    return this.#services.add(topic, answer);
  }

  /**
   * Answers a request of a neighbour. Returns false if the request is for another part of the node.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (!request.url?.startsWith(PEER_PATHS)) return false;
    this.#answer(request, response).catch(() => response.destroy());
    return true;
  }

  /**
   * True if a Host field is the address of a neighbour that is known to be another node. Such a
   * request was recorded on its way to that node, and is played here. Any other host may be a name
   * of this node, behind a name server or a translated port.
   */
  isForOther(host: string): boolean {
    const id = this.#peers.get(this.#hosts.get(host.toLowerCase()) ?? '')?.id ?? null;
    return id !== null && id !== this.self.id;
  }

  /**
   * Says goodbye to the neighbours, which ask this node for nothing more from then on, and refuses
   * their streams and requests. The links to them stay, for work of this node that is under way.
   */
  leave(): void {
    if (this.#isLeaving || this.#isClosed) return;
    this.#isLeaving = true;
    this.#streamServer.sayGoodbye();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopWatching();
    this.#requests.close();
    for (const link of this.#links.values()) link.close();
    this.#streamServer.close();
    this.#client.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = request;
    const host = headers.host ?? '';
    const signature = headers[SIGNATURE_FIELD];
    const field = typeof signature === 'string' ? signature : undefined;
    const verdict = this.#verifier.verify({
      method,
      target,
      host,
      field,
      names: certifiedNames(request.socket),
    });
    if ('refused' in verdict) return refuse(request, response, signatureCode(verdict.refused));
    if (this.isForOther(host)) return refuse(request, response, 'peer');
    if (this.#isClosed || this.#isLeaving) return refuse(request, response, 'closed');
    const { pathname, searchParams } = new URL(target, 'http://node');
    if (method === 'GET' && pathname === STREAM_PATH)
      return this.#openStream(request, response, searchParams, verdict);
    if (method === 'POST' && pathname === ASK_PATH)
      return this.#requestServer.answer(request, response, searchParams.get('topic') ?? '', verdict);
    refuse(request, response, 'topic');
  }

  #openStream(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
    { node, nonce, keys }: AcceptedRequest,
  ): void {
    const asked = readStreamQuery(query);
    if (typeof asked === 'string') refuse(request, response, asked);
    else if (!this.#streamServer.open({ node, nonce, keys, ...asked }, response))
      refuse(request, response, 'busy');
  }
}
