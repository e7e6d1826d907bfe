/**
 * One file that is being fetched: the process around the decisions. It follows peers, sends the
 * requests that the plan names, checks and writes what comes, and lets a server hand out what is
 * there already. docs/spec/delivery.md says whom it believes.
 *
 * It runs as one loop: choose a hypothesis, start requests, wait for an event. A slow step of one
 * peer never keeps the others waiting, because requests and links run beside the loop.
 */

import { randomBytes } from 'node:crypto';
import type { Cancel } from '@bloomery/transport';
import type { MemberSource } from '@bloomery/transport/membership';
import type { BlockSet } from '../decisions/block-set.ts';
import { DeliveryPlan, ORIGIN } from '../decisions/delivery-plan.ts';
import { blockLength, type FileShape, shapeOf } from '../decisions/file-shape.ts';
import { Hypotheses, type Hypothesis } from '../decisions/hypotheses.ts';
import { ToldHashes } from '../decisions/told-hashes.ts';
import { DeliveryError } from '../delivery-error.ts';
import type { BlockServer } from '../serve/block-server.ts';
import type { SharedFile } from '../serve/shared-file.ts';
import { TokenBucket } from '../serve/token-bucket.ts';
import type { PartialFile } from '../store/partial-file.ts';
import { HashList, sha256 } from '../wire/hash-list.ts';
import type { StateMessage, ToldHash } from '../wire/state-message.ts';
import { auditOrder } from './audit-order.ts';
import { BlockTally } from './block-tally.ts';
import type { DeliveryEvent, DeliveryReport } from './delivery-report.ts';
import { FETCH_LIMITS, type FetchLimits } from './fetch-limits.ts';
import { type FollowedPeer, PeerGroup } from './peer-group.ts';
import { RangeClient, RangeProblem } from './range-client.ts';

export interface FetchJobOptions {
  readonly file: PartialFile;
  readonly peers: readonly string[] | MemberSource;
  /** The URL of the file at a web server that sends ranges, or null. */
  readonly origin?: string | null | undefined;
  /** Hands out the blocks that are there. Without one, this node only takes. */
  readonly server?: BlockServer | null | undefined;
  readonly limits?: Partial<FetchLimits> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly event?: DeliveryEvent | undefined;
  readonly random?: (() => number) | undefined;
}

const TICK_MS = 100;
const ORIGIN_PAUSE_MS = 1000;
const STEPS = 16;
/** Times of patience without a block, while bytes come, after which a fetch ends. */
const BLOCK_PATIENCES = 5;

export class FetchJob implements SharedFile {
  readonly digest: string;
  readonly node = randomBytes(16).toString('hex');
  readonly #file: PartialFile;
  readonly #limits: FetchLimits;
  readonly #origin: string | null;
  readonly #signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #event: DeliveryEvent;
  readonly #random: () => number;
  /** Whether peers may come later: from the DNS, or from a message broker. */
  readonly #mayGetPeers: boolean;
  readonly #client: RangeClient;
  readonly #group: PeerGroup;
  readonly #hypotheses = new Hypotheses();
  readonly #told = new ToldHashes();
  readonly #tally: BlockTally;
  readonly #unshare: Cancel;
  readonly #watchers = new Set<() => void>();
  /** Requests under way, by source and block. */
  readonly #requests = new Map<string, AbortController>();
  #hypothesis: Hypothesis | null = null;
  #list: HashList | null = null;
  #giver: string | null = null;
  #plan: DeliveryPlan | null = null;
  #phase: DeliveryReport['phase'] = 'searching';
  #originSize: number | null = null;
  #originProblem: DeliveryError | null = null;
  #refuted = 0;
  #wake: () => void = () => {};
  #lastBytes = performance.now();
  #lastBlock = performance.now();

  constructor(options: FetchJobOptions) {
    const { file, peers, origin = null, server = null, signal, event = () => {} } = options;
    this.digest = file.digest;
    this.#file = file;
    this.#origin = origin;
    this.#mayGetPeers = 'members' in peers;
    this.#limits = { ...FETCH_LIMITS, ...options.limits };
    this.#event = event;
    this.#random = options.random ?? Math.random;
    this.#signal = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
    this.#tally = new BlockTally(file);
    const { bytesPerSecond, connectMs, stallMs, blockMs, perPeer, atOriginAlone } = this.#limits;
    this.#client = new RangeClient({
      connectMs,
      stallMs,
      rangeMs: blockMs,
      // The state stream has a connection of its own.
      connections: 1 + Math.max(perPeer, atOriginAlone),
      bucket: bytesPerSecond === null ? null : new TokenBucket(bytesPerSecond),
      came: (bytes) => {
        this.#tally.came(bytes);
        this.#lastBytes = performance.now();
      },
    });
    this.#group = new PeerGroup({
      peers,
      digest: this.digest,
      node: this.node,
      agent: this.#client.agent,
      ownPort: server?.port ?? null,
      follow: this.#limits.follow,
      addresses: this.#limits.addresses,
      random: this.#random,
      message: (peer, message) => this.#heard(peer, message),
      down: (peer) => this.#lost(peer.address),
      against: (peer, why) => this.#ban(peer.address, why),
    });
    this.#unshare = server?.share(this) ?? (() => {});
  }

  get shape(): FileShape | null {
    return this.#file.shape;
  }

  get has(): BlockSet {
    return this.#file.has;
  }

  get isComplete(): boolean {
    return this.#phase === 'done';
  }

  get asksOrigin(): boolean {
    return this.#origin !== null && this.#originProblem === null;
  }

  get list(): HashList | null {
    return this.#list;
  }

  get fetching(): readonly number[] {
    return this.#plan?.fetching ?? [];
  }

  get others(): readonly string[] {
    return this.#group.addresses;
  }

  get report(): DeliveryReport {
    const { shape, has } = this.#file;
    const peers = this.#group.all;
    return {
      digest: this.digest,
      phase: this.#phase,
      size: shape?.size ?? null,
      blockBytes: shape?.blockBytes ?? null,
      blocks: shape?.blocks ?? 0,
      hasBlocks: has.size,
      ...this.#tally.report(peers.map(({ address }) => address)),
      refuted: this.#refuted,
      peers: peers.map(({ address, link, has: own, bytes }) => ({
        address,
        isUp: link.head !== null,
        blocks: own.size,
        bytes,
        why: link.head === null ? link.why : null,
      })),
      banned: this.#group.banned,
    };
  }

  hashOf(block: number): { hash: Uint8Array; isFirstHand: boolean } {
    return { hash: this.#file.hashOf(block), isFirstHand: this.#file.firstHand.has(block) };
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    return this.#file.read(offset, length);
  }

  watch(changed: () => void): Cancel {
    const watcher = () => changed();
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  follower(address: string): void {
    this.#group.meetTold(address);
  }

  /**
   * Fetches the file and gives it its name. Rejects with a DeliveryError, with an error of the
   * disk, or with the reason of the signal. What was fetched so far stays for the next attempt.
   */
  async run(): Promise<DeliveryReport> {
    const began = performance.now();
    if (this.#origin !== null) void this.#probe(this.#origin);
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#isSettled(began)) await this.#choose();
      this.#pump();
      if (this.#plan?.isDone === true && this.#requests.size === 0 && (await this.#isRight())) break;
      this.#checkPatience();
      await this.#next();
    }
    this.#list = HashList.of(this.#file.shape!.size, this.#file.hashes);
    await this.#file.place();
    this.#phase = 'done';
    this.#changed();
    return this.report;
  }

  /** Serves on until all known peers have the file or are gone, and at most for this time. */
  async linger(ms: number): Promise<void> {
    const until = performance.now() + ms;
    const needsUs = () => this.#group.all.some(({ link }) => link.head !== null && !link.head.isComplete);
    while (performance.now() < until && needsUs() && !this.#signal.aborted) await this.#next();
  }

  async close(): Promise<void> {
    this.#stop.abort(new DeliveryError('sources', 'go on', 'expected an open fetch, got a closed one'));
    this.#unshare();
    this.#group.close();
    await this.#client.close();
    this.#file.close();
  }

  // Events

  #heard(peer: FollowedPeer, message: StateMessage): void {
    const { address } = peer;
    const now = performance.now();
    if (message.type === 'head') {
      this.#hypotheses.state(address, message);
      this.#plan?.removePeer(address);
      if (message.list !== null && message.isComplete && this.#hypotheses.isRefuted(message.list))
        this.#ban(address, 'says that it has the file by a list that was refuted');
      else this.#enter(peer);
    } else if (message.type === 'blocks') this.#plan?.peerHas(address, this.#usable(peer, message.has));
    else if (message.type === 'more') this.#plan?.peerHas(address, this.#usable(peer, message.blocks));
    else if (message.type === 'fetching') this.#plan?.peerFetches(address, message.blocks, now);
    else if (message.type === 'hashes') this.#hearHashes(address, message.hashes);
    this.#wake();
  }

  #hearHashes(address: string, hashes: readonly ToldHash[]): void {
    for (const { block, hash, isFirstHand } of hashes) {
      const isNew = !this.#told.isDisputed(block);
      if (!this.#told.tell(address, block, Buffer.from(hash).toString('hex'), isFirstHand)) {
        this.#ban(address, 'told two hashes for one block');
        return;
      }
      if (isNew && this.#told.isDisputed(block) && this.#list === null)
        for (const other of this.#group.all) this.#plan?.peerLacks(other.address, [block]);
    }
  }

  #lost(address: string): void {
    this.#hypotheses.leave(address);
    this.#plan?.removePeer(address);
    this.#abortRequests(address);
    this.#wake();
  }

  #ban(address: string, why: string): void {
    this.#event('warn', 'peer-banned', { peer: address, why });
    this.#group.ban(address, why);
    this.#told.forget(address);
    this.#lost(address);
  }

  async #probe(origin: string): Promise<void> {
    for (;;) {
      try {
        this.#originSize = await this.#client.sizeOf(origin, this.#signal);
        shapeOf(this.#originSize);
        break;
      } catch (error) {
        if (this.#signal.aborted) return;
        if (error instanceof DeliveryError || error instanceof RangeError) {
          this.#dropOrigin(new DeliveryError('origin', `fetch from ${origin}`, error.message));
          return;
        }
        this.#event('warn', 'origin-unreachable', { origin, why: (error as Error).message });
        await new Promise((resolve) => setTimeout(resolve, ORIGIN_PAUSE_MS));
        if (this.#signal.aborted) return;
      }
    }
    this.#wake();
  }

  #dropOrigin(error: DeliveryError): void {
    this.#originProblem = error;
    this.#originSize = null;
    this.#event('warn', 'origin-dropped', { why: error.message });
    this.#plan?.removeOrigin();
    this.#changed();
  }

  // Hypotheses

  /** True if the peers have answered, or have had the time to. */
  #isSettled(began: number): boolean {
    if (this.#hypothesis !== null || performance.now() - began >= this.#limits.settleMs) return true;
    const isOriginKnown = this.#origin === null || this.#originSize !== null || this.#originProblem !== null;
    return isOriginKnown && this.#group.all.every(({ link }) => link.hasTried);
  }

  /**
   * The size of the file if there is no list of blocks: the size that the origin says, or the one
   * that most peers without a list say.
   */
  #openSize(): number | null {
    if (this.#originSize !== null) return this.#originSize;
    const votes = new Map<number, number>();
    for (const { link } of this.#group.all)
      if (link.head !== null && link.head.list === null && link.head.size !== null)
        votes.set(link.head.size, (votes.get(link.head.size) ?? 0) + 1);
    const [most] = [...votes].sort(([, a], [, b]) => b - a);
    return most?.[0] ?? null;
  }

  async #choose(): Promise<void> {
    const best = this.#hypotheses.best(this.#openSize() !== null, performance.now());
    const now = this.#hypothesis;
    if (best === null) {
      if (this.#refuted > 0 && now === null) throw this.#wrongFile();
      return;
    }
    // A list is kept while it is not refuted or contested, whatever the votes.
    if (now?.kind === 'list' && best.kind === 'list' && !now.isContested) return;
    if (now?.kind === best.kind && (now.kind === 'open' || now.name === (best as typeof now).name)) return;
    if (best.kind === 'open') this.#begin(best, null, shapeOf(this.#openSize()!));
    else await this.#adopt(best);
  }

  async #adopt(best: Hypothesis & { kind: 'list' }): Promise<void> {
    const giver = this.#hypotheses.givers(best.name, performance.now())[0]!;
    let list: HashList;
    try {
      list = await this.#group.get(giver)!.link.fetchList(this.#signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#hypotheses.doubt(giver, performance.now());
      this.#event('warn', 'list-refused', { peer: giver, why: (error as Error).message });
      return;
    }
    if (list.name !== best.name) {
      this.#ban(giver, 'sent another list of hashes than it names');
      return;
    }
    const { firstHand, shape } = this.#file;
    const isAgainstOrigin =
      (this.#originSize !== null && this.#originSize !== list.shape.size) ||
      (shape?.size === list.shape.size &&
        [...firstHand].some((block) => !isSame(list.hashOf(block), this.#file.hashOf(block))));
    if (isAgainstOrigin && !best.isContested) {
      this.#hypotheses.contest(best.name);
      this.#wake();
      return;
    }
    if (best.isContested)
      this.#dropOrigin(
        new DeliveryError('origin', `fetch from ${this.#origin}`, 'its file has another digest'),
      );
    this.#giver = giver;
    this.#begin(best, list, list.shape);
  }

  #begin(hypothesis: Hypothesis, list: HashList | null, shape: FileShape): void {
    const before = this.#hypothesis;
    for (const key of [...this.#requests.keys()]) this.#abortRequest(key);
    this.#hypothesis = hypothesis;
    this.#list = list;
    this.#phase = 'fetching';
    const { firstHand } = this.#file;
    const isFirst = this.#file.shape === null;
    this.#file.reshape(shape, (block, hash) => {
      if (list !== null) return isSame(list.hashOf(block), hash);
      // Blocks that only fit a list that is given up are worth nothing without it.
      return before?.kind !== 'list' || firstHand.has(block);
    });
    this.#event('info', 'hypothesis', {
      ...hypothesis,
      size: shape.size,
      kept: this.#file.has.size,
      isFirst,
    });
    const { has } = this.#file;
    this.#tally.reshaped();
    this.#plan = new DeliveryPlan({
      shape,
      self: this.node,
      random: this.#random,
      has,
      limits: { ...this.#limits, inFlight: requestsAtOnce(this.#limits, shape) },
    });
    if (this.#originSize === shape.size) this.#plan.addOrigin();
    for (const peer of this.#group.all) this.#enter(peer);
    this.#changed();
  }

  /** Adds a peer to the plan, if the hypothesis allows to use it. */
  #enter(peer: FollowedPeer): void {
    const { head } = peer.link;
    if (head === null || this.#plan === null) return;
    this.#plan.addPeer(peer.address);
    this.#plan.describePeer(peer.address, head);
    this.#plan.peerHas(peer.address, this.#usable(peer, peer.has));
  }

  /** Those of a peer's blocks that it may be asked for. */
  #usable(peer: FollowedPeer, blocks: Iterable<number>): number[] {
    const { head } = peer.link;
    if (head === null || head.size !== this.#plan?.shape.size) return [];
    const { address } = peer;
    if (this.#list !== null) {
      const list = this.#list;
      if (head.list !== null) return head.list === list.name ? [...blocks] : [];
      return [...blocks].filter((block) => {
        const told = this.#told.hashOf(address, block);
        return told !== null && isSame(list.hashOf(block), Buffer.from(told, 'hex'));
      });
    }
    if (head.list !== null) return [];
    const mayDispute = !this.asksOrigin;
    return [...blocks].filter(
      (block) => this.#told.hashOf(address, block) !== null && (mayDispute || !this.#told.isDisputed(block)),
    );
  }

  // Requests

  #pump(): void {
    if (this.#plan === null || this.#phase !== 'fetching') return;
    const before = this.#plan.fetching.length;
    for (;;) {
      const request = this.#plan.next(performance.now());
      if (request === null) break;
      void this.#request(this.#plan, request.source, request.block);
    }
    if (this.#plan.fetching.length !== before) this.#changed();
  }

  async #request(plan: DeliveryPlan, source: string, block: number): Promise<void> {
    const key = `${source} ${block}`;
    const stop = new AbortController();
    this.#requests.set(key, stop);
    const url = source === ORIGIN ? this.#origin! : this.#group.get(source)!.link.fileUrl;
    try {
      const { blockBytes } = plan.shape;
      const length = blockLength(plan.shape, block);
      const signal = AbortSignal.any([stop.signal, this.#signal]);
      const bytes = await this.#client.range(url, block * blockBytes, length, signal);
      if (this.#plan === plan && !stop.signal.aborted) this.#take(plan, source, block, bytes);
    } catch (error) {
      if (!(error instanceof RangeProblem)) {
        plan.failed(source, block, performance.now());
        if (!stop.signal.aborted && !this.#signal.aborted) this.#fail(error);
      } else this.#missed(plan, source, block, error);
    } finally {
      if (this.#requests.get(key) === stop) this.#requests.delete(key);
      this.#wake();
    }
  }

  #take(plan: DeliveryPlan, source: string, block: number, bytes: Buffer): void {
    const now = performance.now();
    const hash = sha256(bytes);
    if (this.#file.has.has(block)) {
      plan.failed(source, block, now, 0);
      return;
    }
    const told = this.#told.hashOf(source, block);
    const expected = this.#list?.hashOf(block) ?? (told === null ? null : Buffer.from(told, 'hex'));
    const isOrigin = source === ORIGIN;
    const isRight = isOrigin && this.#list === null ? true : expected !== null && isSame(expected, hash);
    if (!isRight) {
      plan.failed(source, block, now);
      if (!isOrigin) this.#ban(source, `sent a block that is not what it claimed (block ${block})`);
      else if (this.#hypothesis?.kind === 'list') {
        this.#event('warn', 'list-contested', { list: this.#hypothesis.name, block });
        this.#hypotheses.contest(this.#hypothesis.name);
        this.#hypothesis = null;
      }
      return;
    }
    this.#file.write(block, bytes, hash, isOrigin);
    this.#tally.took(source, block, bytes.length);
    const peer = this.#group.get(source);
    if (peer !== undefined) peer.bytes += bytes.length;
    for (const other of plan.received(source, block, now)) this.#abortRequest(`${other} ${block}`);
    this.#lastBlock = now;
    this.#tellProgress(plan);
    if (isOrigin && this.#list === null)
      for (const liar of this.#told.settle(block, hash.toString('hex')))
        this.#ban(liar, `vouched for another block ${block} than the origin's`);
    this.#changed();
  }

  /** Tells each sixteenth of the way. */
  #tellProgress({ missing, shape: { blocks } }: DeliveryPlan): void {
    const part = (left: number) => Math.floor((STEPS * (blocks - left)) / blocks);
    if (part(missing) > part(missing + 1))
      this.#event('info', 'progress', { hasBlocks: blocks - missing, blocks });
  }

  #missed(plan: DeliveryPlan, source: string, block: number, problem: RangeProblem): void {
    const now = performance.now();
    if (problem.kind === 'busy') plan.failed(source, block, now, problem.busyMs);
    else plan.failed(source, block, now);
    if (source === ORIGIN) {
      this.#event('warn', 'origin-failed', { block, why: problem.message });
      if (problem.kind === 'against' || problem.kind === 'lacks')
        this.#dropOrigin(new DeliveryError('origin', `fetch from ${this.#origin}`, problem.message));
    } else if (problem.kind === 'against') this.#ban(source, problem.message);
    else if (problem.kind === 'lacks') plan.peerLacks(source, [block]);
  }

  /** An error that is not of a source, such as a full disk, ends the fetch. */
  #fail(error: unknown): void {
    this.#stop.abort(error);
    this.#wake();
  }

  #abortRequest(key: string): void {
    this.#requests.get(key)?.abort();
    this.#requests.delete(key);
  }

  #abortRequests(source: string): void {
    for (const key of [...this.#requests.keys()]) if (key.startsWith(`${source} `)) this.#abortRequest(key);
  }

  // The end

  /** Compares the whole file with its digest, and gives the hypothesis up if it is another one. */
  async #isRight(): Promise<boolean> {
    this.#phase = 'checking';
    if ((await this.#file.hashAll(this.#signal)) === this.digest) return true;
    const hypothesis = this.#hypothesis!;
    if (hypothesis.kind === 'open' && this.asksOrigin && (await this.#audit())) return true;
    this.#refuted++;
    this.#event('warn', 'refuted', { ...hypothesis, giver: this.#giver });
    if (this.#refuted >= this.#limits.rounds) throw this.#wrongFile();
    if (hypothesis.kind === 'open') this.#hypotheses.refuteOpen();
    else {
      const liars = this.#hypotheses.refute(hypothesis.name);
      for (const liar of new Set([...liars, ...(this.#giver === null ? [] : [this.#giver])]))
        this.#ban(liar, 'gave a list of hashes of another file');
    }
    this.#hypothesis = null;
    this.#list = null;
    this.#plan = null;
    this.#phase = 'searching';
    return false;
  }

  /** Compares blocks that peers gave with the origin's. Returns whether the file is right then. */
  async #audit(): Promise<boolean> {
    const shape = this.#file.shape!;
    const voucherOf = (block: number) =>
      this.#told.voucherOf(block, Buffer.from(this.#file.hashOf(block)).toString('hex')) ??
      this.#tally.sourceOf(block);
    const secondHand = [...this.#file.has].filter((block) => !this.#file.firstHand.has(block));
    const order = auditOrder(secondHand, voucherOf, this.#random);
    this.#event('warn', 'audit', { blocks: secondHand.length });
    let mended = false;
    for (let block = order.next(); block !== null; block = order.next()) {
      const { blockBytes } = shape;
      const bytes = await this.#client.range(
        this.#origin!,
        block * blockBytes,
        blockLength(shape, block),
        this.#signal,
      );
      const hash = sha256(bytes);
      if (isSame(hash, this.#file.hashOf(block))) this.#file.confirm(block);
      else {
        mended = true;
        const voucher = voucherOf(block);
        this.#file.write(block, bytes, hash, true);
        this.#tally.took(ORIGIN, block, bytes.length);
        order.suspect(voucher);
        if (voucher !== null && this.#group.get(voucher) !== undefined)
          this.#ban(voucher, `vouched for another block ${block} than the origin's`);
      }
      if (mended && order.isGroupDone) {
        mended = false;
        if ((await this.#file.hashAll(this.#signal)) === this.digest) return true;
      }
    }
    return false;
  }

  #wrongFile(): DeliveryError {
    return new DeliveryError(
      'digest',
      'fetch the file',
      `expected one whose SHA-256 is ${this.digest}, got another one from all sources (${this.#refuted} attempts)`,
    );
  }

  #checkPatience(): void {
    const now = performance.now();
    // Bytes that never become a block count for a while: a peer may send one at a time forever.
    const waited = Math.max(now - this.#lastBytes, (now - this.#lastBlock) / BLOCK_PATIENCES);
    const hasSource = this.asksOrigin || this.#mayGetPeers || this.#group.all.length > 0;
    if (hasSource && waited < this.#limits.patienceMs) return;
    if (this.#originProblem !== null && this.#group.all.length === 0) throw this.#originProblem;
    const reasons = [
      ...this.#group.all.map(
        ({ address, link }) => `${address}: ${link.head === null ? link.why : 'sent nothing'}`,
      ),
      ...this.#group.banned.map(({ peer, why }) => `${peer}: ${why}`),
      ...(this.#originProblem === null ? [] : [this.#originProblem.message]),
    ];
    const heard = reasons.length === 0 ? 'no source' : reasons.slice(0, 4).join('; ');
    throw new DeliveryError('sources', 'fetch the file', `expected a source that has it, got ${heard}`);
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** Waits for an event, or for a moment: rests end and requests become slow without an event. */
  #next(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, TICK_MS);
      const signal = this.#signal;
      signal.addEventListener('abort', done, { once: true });
      this.#wake = done;
      function done() {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      }
    });
  }
}

/** Requests that share a limit of bytes and still end in half of the time that a block has. */
function requestsAtOnce({ bytesPerSecond, blockMs, inFlight }: FetchLimits, shape: FileShape): number {
  if (bytesPerSecond === null) return inFlight;
  const inTime = Math.floor((bytesPerSecond * blockMs) / 2000 / shape.blockBytes);
  return Math.max(1, Math.min(inFlight, inTime));
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
