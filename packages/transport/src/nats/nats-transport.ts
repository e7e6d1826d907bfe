/**
 * The port over a NATS server. Messages go to subjects, one per node and topic; requests go to the
 * subject of a node, and answers come back on a subject of the asking node; nodes find each other
 * by presence, so there is no list of members to keep. docs/spec/peer-nats.md specifies subjects
 * and bytes.
 *
 * The server is not trusted, not even to deliver. All messages are signed with the secret of the
 * fleet (sealed-envelopes.ts), and receivers notice lost messages by numbers and beats
 * (presence-link.ts). When the server is gone, all links are down at once, and all requests fail.
 *
 * Joining. A node subscribes, reads the states that others left (state-shelf.ts), and says that it
 * is here. The others greet it, it greets them, and all links are up after two round trips.
 *
 * A node without an address hears the others and asks them, but is no neighbour of theirs.
 */

import { type Cancel, type Clock, systemClock } from '../clock.ts';
import { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { untilBeat } from '../link/common-beat.ts';
import { newLife } from '../link/new-life.ts';
import { PeerList } from '../link/peer-list.ts';
import { PendingRequests, requestError } from '../link/pending-request.ts';
import { Services } from '../link/services.ts';
import { addTraffic, NO_TRAFFIC, type TransportTraffic } from '../link/transport-traffic.ts';
import { type Greeted, Neighbours } from '../presence/neighbours.ts';
import { encodePresence, type Presence } from '../presence/presence.ts';
import type { Life, PresenceLink } from '../presence/presence-link.ts';
import { RefusalLog } from '../presence/refusal-log.ts';
import { type AcceptedEnvelope, SealedEnvelopes } from '../presence/sealed-envelopes.ts';
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
import { AskBoard } from './ask-board.ts';
import { EnvelopeSender } from './envelope-sender.ts';
import { loadNatsClient } from './load-client.ts';
import type { NatsClient, Wire, WireMessage } from './nats-client.ts';
import { NATS_LIMITS, type NatsLimits } from './nats-limits.ts';
import type { LoadedNatsClient } from './nats-server-options.ts';
import { type NatsEvent, type NatsStatus, REFUSAL_ADVICE } from './nats-status.ts';
import type { NatsTransportOptions } from './nats-transport-options.ts';
import { parseNatsUrl } from './nats-url.ts';
import { PieceAssembler } from './piece-assembler.ts';
import { ServerConnection } from './server-connection.ts';
import { StateShelf } from './state-shelf.ts';
import { FleetSubjects, NATS_PROTOCOL } from './subjects.ts';

export class NatsTransport implements Transport {
  readonly self: PeerIdentity;
  readonly #clock: Clock;
  readonly #limits: NatsLimits;
  readonly #keyring: FleetKeyring;
  readonly #subjects: FleetSubjects;
  readonly #status: Pick<NatsStatus, 'server' | 'fleet'>;
  readonly #event: NatsEvent;
  readonly #life: string;
  readonly #born: number;
  readonly #peers: PeerList;
  readonly #neighbours: Neighbours;
  readonly #services: Services;
  readonly #requests: PendingRequests;
  readonly #seals: SealedEnvelopes;
  readonly #sender: EnvelopeSender;
  readonly #asks: AskBoard;
  readonly #messages = new PieceAssembler();
  readonly #shelf: StateShelf;
  readonly #refusals: RefusalLog;
  readonly #connection: ServerConnection;
  readonly #stopWatchingKeys: Cancel;
  /** The number of the last message of each topic. */
  readonly #numbers = new Map<string, number>();
  /** Topics that links have subscriptions to, in use order. */
  readonly #topics = new Set<string>();
  /** Topics whose messages the server passes on to this connection. */
  #heardTopics: ReadonlySet<string> = new Set();
  readonly #group: string | null;
  #address: string | null;
  #wire: Wire | null = null;
  #connections = 0;
  /** The traffic of the connections that were lost. */
  #earlierTraffic = NO_TRAFFIC;
  #why: string | null = 'not yet connected';
  /** Whether this node has said on this connection that it is here. */
  #isJoined = false;
  #hasReadStates = false;
  #isClosed = false;
  #stopBeats: Cancel = () => {};

  constructor(options: NatsTransportOptions, loaded: LoadedNatsClient) {
    const client = loaded as NatsClient;
    const { id, secret, server, fleet, address, clock = systemClock } = options;
    const limits = { ...NATS_LIMITS, ...options.limits };
    this.self = { id };
    this.#clock = clock;
    this.#limits = limits;
    this.#keyring = FleetKeyring.of(secret);
    this.#subjects = new FleetSubjects(fleet);
    this.#status = { server: parseNatsUrl(server.url).shown, fleet };
    this.#event = options.event ?? (() => {});
    this.#life = newLife(clock);
    this.#born = Math.floor(clock.now());
    this.#group = options.group ?? null;
    this.#address = address;
    this.#peers = new PeerList(clock, options.peers ?? []);
    if (address !== null) this.#peers.set(address, { state: 'self', why: null, id });
    this.#services = new Services(limits.requestsPerNode);
    this.#requests = new PendingRequests(clock);
    const identity = { node: id, life: this.#life };
    this.#seals = new SealedEnvelopes({
      protocol: NATS_PROTOCOL,
      keyring: this.#keyring,
      clock,
      ...identity,
    });
    this.#sender = new EnvelopeSender(this.#seals, id, limits.pieceBytes);
    this.#refusals = new RefusalLog(
      clock,
      (fields) => this.#event('warn', 'nats-refused', fields),
      REFUSAL_ADVICE,
    );
    this.#asks = new AskBoard({
      ...identity,
      subjects: this.#subjects,
      sender: this.#sender,
      services: this.#services,
      greeted: (greeting, presence) => {
        this.#present(greeting, presence);
        return this.#presence();
      },
    });
    this.#shelf = new StateShelf({
      client,
      clock,
      node: id,
      seals: this.#seals,
      subjects: this.#subjects,
      topics: options.stateTopics ?? null,
      event: this.#event,
    });
    this.#neighbours = new Neighbours({
      self: id,
      clock,
      keyring: this.#keyring,
      limits,
      peers: this.#peers,
      greet: (link, life) => this.#greet(link, life),
      hailed: (link) => this.#asks.giveUp(link),
      down: (link) => this.#asks.giveUp(link),
      ownAddress: () => this.#address,
      topics: () => [...this.#heardTopics],
      stateOf: (life, topic, lastNumber) => this.#shelf.take(life, topic, lastNumber),
    });
    this.#connection = new ServerConnection({
      client,
      server,
      clock,
      limits,
      name: `bloomery ${id}`,
      opened: (wire) => void this.#opened(wire),
      lost: (why) => this.#lost(why),
      told: (error) => this.#event('warn', 'nats-problem', { problem: error.message }),
    });
    this.#stopWatchingKeys = this.#keyring.watch(() => {
      this.#neighbours.keyringChanged();
      this.#beat();
    });
    this.#scheduleBeat();
  }

  /** Loads the client and begins to connect. Rejects if the client is not installed. */
  static async load(options: NatsTransportOptions): Promise<NatsTransport> {
    return new NatsTransport(options, await loadNatsClient());
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
    this.#beat();
  }

  status(): NatsStatus {
    return {
      ...this.#status,
      isConnected: this.#wire !== null,
      why: this.#why,
      reconnects: Math.max(0, this.#connections - 1),
      traffic: this.#traffic,
      hasStates: this.#shelf.isOpen,
      refused: this.#refusals.counts,
    };
  }

  publish(topic: string, message: Uint8Array): void {
    checkTopic(topic);
    checkMessageSize(message);
    if (this.#isClosed) return;
    // A message that cannot be sent is counted, so that others notice it after the reconnection.
    const number = (this.#numbers.get(topic) ?? 0) + 1;
    this.#numbers.set(topic, number);
    const subject = this.#subjects.said(this.self.id, topic);
    this.#sender.send(subject, { kind: 'message', number, payload: message });
  }

  leaveState(topic: string, state: Uint8Array): void {
    checkTopic(topic);
    if (!this.#isClosed) this.#shelf.leave(topic, this.#numbers.get(topic) ?? 0, state);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    checkTopic(topic);
    this.#peers.other(peer);
    if (!this.#topics.has(topic)) {
      this.#topics.add(topic);
      if (this.#wire !== null) void this.#beginTopic(this.#wire, topic);
    }
    return this.#neighbours.at(peer).subscribe(topic, on);
  }

  async request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    checkTopic(topic);
    this.#peers.other(peer);
    if (body.length > MAX_MESSAGE_BYTES) throw requestError('size', peer);
    const link = this.#neighbours.at(peer);
    const to = link.current;
    if (to === null) throw requestError('unreachable', peer);
    const subject = this.#subjects.ask(to.node, to.life, topic);
    return this.#requests.run(peer, options, (settle) => this.#asks.ask({ link, subject, body }, settle));
  }

  serve(topic: string, answer: Service): Cancel {
    checkTopic(topic);
    return this.#services.add(topic, answer);
  }

  /** Says goodbye, sends everything that waits, and ends the connection. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopBeats();
    this.#stopWatchingKeys();
    this.#requests.close();
    this.#neighbours.close();
    if (this.#isJoined) this.#sayHere({ leaving: true });
    await this.#shelf.removeOwn();
    this.#sender.wire = null;
    this.#wire = null;
    await this.#connection.close();
  }

  // The server comes and goes.

  async #opened(wire: Wire): Promise<void> {
    const { id } = this.self;
    this.#wire = wire;
    this.#connections++;
    this.#why = null;
    this.#sender.wire = wire;
    this.#event('info', 'nats-connected', { ...this.#status });
    wire.subscribe(this.#subjects.allHere, (message) => this.#heardPresence(message));
    wire.subscribe(this.#subjects.allAsks(id, this.#life), (message) => this.#heardAsk(message));
    wire.subscribe(this.#subjects.allAnswers(id, this.#life), (message) => this.#heardAnswer(message));
    for (const topic of this.#topics) this.#listenTo(wire, topic);
    // No link is up yet, and the greetings that bring one up follow on the same connection.
    this.#heardTopics = new Set(this.#topics);
    const shelf = this.#shelf.open(wire);
    // Only a node that joins reads states. One that connects again need not wait for JetStream.
    if (!this.#hasReadStates) {
      await shelf;
      await this.#shelf.readAll(this.#limits.statesMs);
    }
    if (this.#wire !== wire || this.#isClosed) return;
    this.#hasReadStates = true;
    this.#isJoined = true;
    this.#sayHere({ hail: true });
  }

  #lost(why: string): void {
    if (this.#wire !== null || this.#why !== why)
      this.#event('warn', 'nats-down', { ...this.#status, problem: why });
    this.#earlierTraffic = this.#traffic;
    this.#wire = null;
    this.#why = why;
    this.#heardTopics = new Set();
    this.#sender.wire = null;
    this.#isJoined = false;
    this.#shelf.lost();
    this.#messages.clear();
    this.#asks.lost();
    this.#neighbours.allDown('no connection to the NATS server');
  }

  get #traffic(): TransportTraffic {
    return this.#wire === null
      ? this.#earlierTraffic
      : addTraffic(this.#earlierTraffic, this.#wire.traffic());
  }

  // Presence.

  #scheduleBeat(): void {
    this.#stopBeats = this.#clock.after(untilBeat(this.#clock, this.#limits.heartbeatMs), () => {
      this.#beat();
      // The states that were found at the join have had the time of a beat to be used.
      if (this.#isJoined) {
        this.#shelf.forgetFound();
        this.#neighbours.forgetOld();
      }
      this.#scheduleBeat();
    });
  }

  #beat(): void {
    if (this.#isJoined && !this.#isClosed) this.#sayHere();
  }

  #sayHere(how: Partial<Pick<Presence, 'hail' | 'leaving'>> = {}): void {
    const subject = this.#subjects.here(this.self.id);
    this.#sender.send(subject, { kind: 'presence', number: 0, payload: this.#presence(how) });
  }

  #presence(how: Partial<Pick<Presence, 'hail' | 'leaving'>> = {}): Uint8Array {
    return encodePresence({
      address: this.#address,
      born: this.#born,
      heartbeatMs: this.#limits.heartbeatMs,
      keys: this.#keyring.all.map(({ id }) => id),
      numbers: Object.fromEntries(this.#numbers),
      group: this.#group,
      hail: false,
      leaving: false,
      ...how,
    });
  }

  async #greet(link: PresenceLink, { node, life }: Life): Promise<Greeted> {
    const question = { link, subject: this.#subjects.greet(node, life), body: this.#presence() };
    let keys: FleetKeys = link.keys;
    const options = { timeoutMs: this.#limits.heartbeatMs };
    const presence = await this.#requests.run(link.address, options, (settle) =>
      this.#asks.ask(question, (outcome, signedBy) => {
        keys = signedBy ?? keys;
        settle(outcome);
      }),
    );
    return { presence, keys };
  }

  #heardPresence({ subject, data }: WireMessage): void {
    const opened = this.#seals.open(subject, data);
    if (!('refused' in opened)) {
      this.#present(opened, opened.envelope.payload);
      return;
    }
    this.#refusals.count(opened.refused, subject);
    const { life } = opened.envelope ?? {};
    if (opened.refused === 'clock' && life !== undefined) this.#neighbours.ofLife(life)?.refuse(CLOCK);
  }

  /** Links come up when the states have been read, so that these come first. */
  #present(accepted: AcceptedEnvelope, payload: Uint8Array): void {
    if (this.#isJoined && !this.#isClosed) this.#neighbours.present(accepted, payload);
  }

  // Messages, requests and answers.

  /**
   * Listens to a topic while links are up. Its subscriptions open when the server has confirmed it:
   * a message that is published after `open` would otherwise overtake the subscription.
   */
  async #beginTopic(wire: Wire, topic: string): Promise<void> {
    this.#listenTo(wire, topic);
    try {
      await wire.flush();
    } catch {
      // The connection has ended, and the next one listens to all topics.
      return;
    }
    if (this.#wire !== wire) return;
    this.#heardTopics = new Set([...this.#heardTopics, topic]);
    this.#neighbours.openTopics();
  }

  #listenTo(wire: Wire, topic: string): void {
    wire.subscribe(this.#subjects.allSaid(topic), ({ subject, data }) => {
      const opened = this.#seals.open(subject, data);
      if ('refused' in opened) {
        this.#refusals.count(opened.refused, subject);
        return;
      }
      const { envelope } = opened;
      const link = envelope.kind === 'message' ? this.#neighbours.ofLife(envelope.life) : undefined;
      link?.heard();
      const message = link === undefined ? null : this.#messages.take(`${envelope.life} ${topic}`, envelope);
      if (message !== null) link?.message(topic, envelope.number, message);
    });
  }

  #heardAsk({ subject, data }: WireMessage): void {
    const opened = this.#seals.open(subject, data);
    if ('refused' in opened) this.#refusals.count(opened.refused, subject);
    this.#asks.asked(subject, opened);
  }

  #heardAnswer({ subject, data, isStatus }: WireMessage): void {
    const opened = isStatus ? null : this.#seals.open(subject, data);
    if (opened === null) this.#asks.noResponder(subject)?.down('not connected to the NATS server');
    else if ('refused' in opened) this.#refusals.count(opened.refused, subject);
    else this.#asks.answered(subject, opened);
  }
}

const CLOCK = 'refused: the clocks differ by more than 30 s';
