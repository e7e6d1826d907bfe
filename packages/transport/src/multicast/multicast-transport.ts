/**
 * The port over UDP multicast, for a fleet on one network without a broker. A message goes to the
 * group once, whatever the number of nodes, where streams send it to each of them. Requests go from
 * peer port to peer port over HTTP, and nodes find each other by presence, so there is no list of
 * members to keep. docs/spec/peer-multicast.md specifies the datagrams.
 *
 * The network is trusted with nothing. Datagrams are signed with the secret of the fleet
 * (sealed-envelopes.ts), and each is taken once. A datagram that is lost is noticed by the number
 * of the next one, or by the next beat, and repaired (message-repair.ts). If it cannot be repaired,
 * the subscription closes and opens, and the protocol of the topic catches up by a request.
 *
 * A message that does not fit into one datagram of 1,400 bytes is announced to the group, and each
 * subscriber fetches it over HTTP. `datagramBytes` tells publishers what fits.
 *
 * Limits on answers. Receivers that miss a message ask after random pauses, and the publisher sends
 * it to the group again at most ten times a second (kept-messages.ts). Nodes that hear a new node
 * greet it after random pauses as well.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Cancel, type Clock, systemClock } from '../clock.ts';
import { FleetKeyring } from '../fleet-keyring.ts';
import { HttpTransport } from '../http/http-transport.ts';
import { newLife } from '../link/new-life.ts';
import { PeerList } from '../link/peer-list.ts';
import { requestError } from '../link/pending-request.ts';
import { envelopeOverhead } from '../presence/envelope.ts';
import { type Greeted, Neighbours } from '../presence/neighbours.ts';
import { encodePresence, type Presence } from '../presence/presence.ts';
import type { Life, PresenceLink } from '../presence/presence-link.ts';
import { RefusalLog } from '../presence/refusal-log.ts';
import { type AcceptedEnvelope, type Draft, SealedEnvelopes } from '../presence/sealed-envelopes.ts';
import {
  checkMessageSize,
  checkTopic,
  type Peer,
  type PeerIdentity,
  type RequestOptions,
  type Service,
  type Subscription,
  type Transport,
} from '../transport.ts';
import {
  datagramOverhead,
  decodeDatagram,
  encodeDatagram,
  MOST_DATAGRAM_BYTES,
  MULTICAST_PROTOCOL,
  subjectOf,
} from './datagram.ts';
import { GroupConnection } from './group-connection.ts';
import { LinkRepairs } from './link-repairs.ts';
import { type MulticastGroup, parseMulticastGroup } from './multicast-group.ts';
import { MULTICAST_LIMITS, type MulticastLimits } from './multicast-limits.ts';
import { openMulticastSocket } from './multicast-socket.ts';
import { type MulticastEvent, type MulticastStatus, REFUSAL_ADVICE } from './multicast-status.ts';
import type { MulticastTransportOptions } from './multicast-transport-options.ts';
import { OwnMessages } from './own-messages.ts';
import { decodeRepeated, encodeAsk, FETCH_TOPIC, REPEAT_TOPIC } from './repair-message.ts';
import { spreadMs } from './spread.ts';

const HELLO_TOPIC = 'multicast.hello';
/** The topic of a presence. */
const NO_TOPIC = '';
const CLOCK = 'refused: the clocks differ by more than 30 s';

export class MulticastTransport implements Transport {
  readonly self: PeerIdentity;
  readonly #clock: Clock;
  readonly #limits: MulticastLimits;
  readonly #keyring: FleetKeyring;
  readonly #group: MulticastGroup;
  readonly #event: MulticastEvent;
  readonly #life: string;
  readonly #born: number;
  readonly #http: HttpTransport;
  readonly #peers: PeerList;
  readonly #neighbours: Neighbours;
  readonly #seals: SealedEnvelopes;
  readonly #own: OwnMessages;
  readonly #repairs: LinkRepairs;
  readonly #refusals: RefusalLog;
  readonly #connection: GroupConnection;
  readonly #stopWatchingKeys: Cancel;
  readonly #counts = { fetched: 0, givenUp: 0, missed: 0, repaired: 0 };
  readonly #traffic = { messagesSent: 0, bytesSent: 0, messagesReceived: 0, bytesReceived: 0 };
  #joins = 0;
  /** Topics that links have subscriptions to. */
  readonly #topics = new Set<string>();
  #address: string | null;
  #why: string | null = 'not yet joined';
  #isLeaving = false;
  #isClosed = false;
  #stopBeats: Cancel = () => {};

  constructor(options: MulticastTransportOptions) {
    const { id, secret, address, clock = systemClock, tls, certificates } = options;
    const limits = { ...MULTICAST_LIMITS, ...options.limits };
    this.self = { id };
    this.#clock = clock;
    this.#limits = limits;
    this.#keyring = FleetKeyring.of(secret);
    this.#group = parseMulticastGroup(options.group);
    this.#event = options.event ?? (() => {});
    this.#life = newLife(clock);
    this.#born = Math.floor(clock.now());
    this.#address = address;
    this.#peers = new PeerList(clock, options.peers ?? []);
    if (address !== null) this.#peers.set(address, { state: 'self', why: null, id });
    // Requests alone: it has no neighbours of its own, and opens no stream to others.
    const { requestsPerNode } = limits;
    this.#http = new HttpTransport({
      id,
      secret: this.#keyring,
      peers: [],
      clock,
      tls,
      certificates,
      limits: { streams: 0, requestsPerNode },
    });
    this.#seals = new SealedEnvelopes({
      protocol: MULTICAST_PROTOCOL,
      keyring: this.#keyring,
      clock,
      node: id,
      life: this.#life,
    });
    this.#refusals = new RefusalLog(
      clock,
      (fields) => this.#event('warn', 'multicast-refused', fields),
      REFUSAL_ADVICE,
    );
    this.#own = new OwnMessages({
      clock,
      life: this.#life,
      datagramBytes: (topic) => this.datagramBytes(topic),
      send: (topic, draft) => this.#send(topic, draft),
    });
    this.#repairs = new LinkRepairs({
      clock,
      neighbours: () => this.#peers.all().length,
      repeat: async (link, ask) => decodeRepeated(await this.#ask(link, REPEAT_TOPIC, encodeAsk(ask))),
      fetch: async (link, ask) => {
        const message = await this.#ask(link, FETCH_TOPIC, encodeAsk(ask));
        this.#counts.fetched++;
        return message;
      },
      givenUp: () => void this.#counts.givenUp++,
      missed: (datagrams) => void (this.#counts.missed += datagrams),
      repaired: () => void this.#counts.repaired++,
    });
    this.#neighbours = new Neighbours({
      self: id,
      clock,
      keyring: this.#keyring,
      limits,
      peers: this.#peers,
      greet: (link, life) => this.#greet(link, life),
      down: (link) => this.#repairs.forget(link),
      repair: (link, numbers) => this.#repairs.known(link, numbers),
      ownAddress: () => this.#address,
      topics: () => [...this.#topics],
      stateOf: () => null,
    });
    this.#http.serve(HELLO_TOPIC, (body, from) => this.#greeted(body, from));
    this.#http.serve(REPEAT_TOPIC, (body) => this.#own.repeat(body));
    this.#http.serve(FETCH_TOPIC, (body) => this.#own.fetch(body));
    this.#stopWatchingKeys = this.#keyring.watch(() => {
      this.#neighbours.keyringChanged();
      this.#sayHere();
    });
    this.#connection = new GroupConnection({
      group: this.#group,
      network: options.network,
      hops: options.hops ?? 1,
      clock,
      limits,
      open: options.openSocket ?? openMulticastSocket,
      heard: (datagram) => this.#heard(datagram),
      joined: () => this.#joined(),
      lost: (why) => this.#lost(why),
    });
    this.#scheduleBeat();
  }

  peers(): readonly Peer[] {
    return this.#peers.all();
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    return this.#peers.watch(listener);
  }

  /** Tells the others where the peer port of this node is, once it is open. */
  announce(address: string): void {
    this.#address = address;
    this.#sayHere();
  }

  status(): MulticastStatus {
    return {
      group: this.#group.text,
      isJoined: this.#connection.isJoined,
      why: this.#why,
      reconnects: Math.max(0, this.#joins - 1),
      traffic: { ...this.#traffic },
      ...this.#own.counts,
      ...this.#counts,
      refused: this.#refusals.counts,
    };
  }

  datagramBytes(topic: string): number {
    return MOST_DATAGRAM_BYTES - datagramOverhead(topic) - envelopeOverhead(this.self.id);
  }

  /** Throws a RangeError if the names of all topics together no longer fit into a beat. */
  publish(topic: string, message: Uint8Array): void {
    checkTopic(topic);
    checkMessageSize(message);
    if (this.#isClosed || this.#isLeaving) return;
    this.#checkBeat(topic);
    this.#own.publish(topic, message);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    checkTopic(topic);
    this.#peers.other(peer);
    this.#topics.add(topic);
    return this.#neighbours.at(peer).subscribe(topic, on);
  }

  async request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    this.#peers.other(peer);
    const link = this.#neighbours.at(peer);
    if (link.current === null) throw requestError('unreachable', peer);
    return this.#http.ask(
      { address: peer, id: link.current.node, keys: link.keys },
      { topic, body, ...options },
    );
  }

  serve(topic: string, answer: Service): Cancel {
    return this.#http.serve(topic, answer);
  }

  /** Answers a request on the peer port. Returns false if it is for another part of the node. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.#http.handle(request, response);
  }

  /** Says goodbye, and refuses requests. The links to others stay, for work that is under way. */
  leave(): void {
    if (this.#isLeaving || this.#isClosed) return;
    this.#sayHere({ leaving: true });
    this.#isLeaving = true;
    this.#http.leave();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (!this.#isLeaving) this.#sayHere({ leaving: true });
    this.#isClosed = true;
    this.#stopBeats();
    this.#stopWatchingKeys();
    this.#repairs.close();
    this.#neighbours.close();
    await this.#http.close();
    await this.#connection.close();
  }

  // The group.

  #joined(): void {
    this.#why = null;
    this.#joins++;
    this.#event('info', 'multicast-joined', { group: this.#group.text });
    this.#sayHere({ hail: true });
  }

  #lost(why: string): void {
    if (this.#why !== why) this.#event('warn', 'multicast-down', { group: this.#group.text, problem: why });
    this.#why = why;
    this.#neighbours.allDown('the multicast group is not joined');
  }

  #send(topic: string, draft: Draft): void {
    const envelope = this.#seals.seal(subjectOf(this.#group, topic), draft);
    const datagram = encodeDatagram({ topic, envelope });
    if (this.#connection.isJoined) {
      this.#traffic.messagesSent++;
      this.#traffic.bytesSent += datagram.length;
    }
    this.#connection.send(datagram);
  }

  #countReceived({ length }: Buffer): void {
    this.#traffic.messagesReceived++;
    this.#traffic.bytesReceived += length;
  }

  #heard(datagram: Buffer): void {
    if (this.#isClosed) return;
    const read = decodeDatagram(datagram);
    if (read === null) {
      this.#countReceived(datagram);
      this.#refusals.count('unreadable', this.#group.text);
      return;
    }
    const { topic } = read;
    const opened = this.#seals.open(subjectOf(this.#group, topic), read.envelope);
    const { envelope } = opened;
    // The system also delivers this node's own datagrams to it.
    if (envelope?.life === this.#life) return;
    this.#countReceived(datagram);
    if ('refused' in opened) {
      this.#refusals.count(opened.refused, `${envelope?.node ?? this.#group.text}`);
      if (opened.refused === 'clock' && envelope !== undefined)
        this.#neighbours.ofLife(envelope.life)?.refuse(CLOCK);
      return;
    }
    const { kind, life, number, payload } = opened.envelope;
    const link = topic === NO_TOPIC ? undefined : this.#neighbours.ofLife(life);
    if (kind === 'presence' && topic === NO_TOPIC) this.#present(opened);
    else if (link === undefined) return;
    else if (kind === 'message') this.#repairs.message(link, topic, number, payload);
    else if (kind === 'notice') this.#repairs.announced(link, topic, number);
  }

  // Presence.

  #scheduleBeat(): void {
    this.#stopBeats = this.#clock.after(this.#limits.heartbeatMs, () => {
      this.#sayHere();
      if (!this.#isLeaving) this.#connection.beat();
      this.#neighbours.forgetOld();
      this.#scheduleBeat();
    });
  }

  #sayHere(how: Partial<Pick<Presence, 'hail' | 'leaving'>> = {}): void {
    if (this.#isClosed || this.#isLeaving) return;
    this.#send(NO_TOPIC, { kind: 'presence', number: 0, payload: this.#presence(how) });
  }

  #presence(how: Partial<Presence> = {}): Uint8Array {
    return encodePresence({
      address: this.#address,
      born: this.#born,
      heartbeatMs: this.#limits.heartbeatMs,
      keys: this.#keyring.all.map(({ id }) => id),
      numbers: this.#own.numbers(),
      group: null,
      hail: false,
      leaving: this.#isLeaving,
      ...how,
    });
  }

  #checkBeat(topic: string): void {
    const numbers = this.#own.numbers();
    if (Object.hasOwn(numbers, topic)) return;
    // Room for every number to grow.
    for (const each of [...Object.keys(numbers), topic]) numbers[each] = Number.MAX_SAFE_INTEGER;
    const { length } = this.#presence({ numbers });
    const most = this.datagramBytes(NO_TOPIC);
    if (length > most)
      throw new RangeError(
        `Cannot publish on a topic: expected a beat with all topics of at most ${most} bytes, got ${length} (${topic})`,
      );
  }

  /** Greets a node with the presence of this one. The others that hear it greet it as well. */
  async #greet(link: PresenceLink, { node, life }: Life): Promise<Greeted> {
    const pause = spreadMs(this.#clock, this.#peers.all().length);
    await new Promise<void>((resolve) => void this.#clock.after(pause, resolve));
    if (this.#isClosed) throw requestError('closed', link.address);
    const answer = await this.#http.ask(
      { address: link.address, id: node, keys: link.keys },
      { topic: HELLO_TOPIC, body: this.#sealedPresence(), timeoutMs: this.#limits.askMs },
    );
    const opened = this.#seals.open(subjectOf(this.#group, NO_TOPIC), answer);
    if ('refused' in opened || opened.envelope.node !== node || opened.envelope.life !== life)
      throw requestError('damaged', link.address);
    return { presence: opened.envelope.payload, keys: opened.keys };
  }

  #greeted(body: Uint8Array, from: string): Uint8Array {
    const opened = this.#seals.open(subjectOf(this.#group, NO_TOPIC), body);
    if (!('refused' in opened) && opened.envelope.node === from) this.#present(opened);
    return this.#sealedPresence();
  }

  #present(accepted: AcceptedEnvelope): void {
    if (!this.#isClosed) this.#neighbours.present(accepted, accepted.envelope.payload);
  }

  #sealedPresence(): Uint8Array {
    const subject = subjectOf(this.#group, NO_TOPIC);
    return this.#seals.seal(subject, { kind: 'presence', number: 0, payload: this.#presence() });
  }

  // Missing messages.

  #ask({ address, current, keys }: PresenceLink, topic: string, body: Uint8Array): Promise<Uint8Array> {
    return this.#http.ask(
      { address, id: current?.node ?? null, keys },
      { topic, body, timeoutMs: this.#limits.askMs },
    );
  }
}
