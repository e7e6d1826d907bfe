/**
 * The contents of the event stream: what a node tells its console, and when (docs/spec/console.md,
 * "The event stream"). It asks the node once a second while there are readers, and builds each
 * message once for all of them. Without readers it does nothing at all.
 *
 * A round takes as long as the node needs to answer, which with workers is a question to each of
 * them. The next round begins a second after the end of the last one, so a busy node is asked less
 * often.
 */

import type { CooperationReport } from '../../peers/peer-report.ts';
import { cooperationOf, squidsOf, type TeamReport, totalOf } from '../admin/status.ts';
import type { AnswerBook, Busiest } from './answer-book.ts';
import { type Counts, countsOf } from './counts.ts';
import { EventStreams, eventText, type StreamResponse } from './event-streams.ts';
import type { HistoryRow } from './history-ring.ts';
import { PeerChanges, type PeersNow } from './peer-changes.ts';

interface Hello {
  readonly v: 1;
  readonly name: string;
  readonly version: string;
  readonly startedAt: number;
  readonly at: number;
  readonly state: 'running' | 'stopping';
  readonly urls: 'shown' | 'hidden';
  /** `memory`: it ends with the node. */
  readonly historyKept: 'disk' | 'memory';
  /** The endpoints of the console that the node has. */
  readonly features: readonly string[];
  /** Whether the node is set up for neighbours. */
  readonly hasFleet: boolean;
}

export interface NodeFeedOptions {
  readonly hello: () => Omit<Hello, 'v' | 'startedAt' | 'at'>;
  readonly report: () => Promise<TeamReport>;
  /** The book with the newest answers of all processes. */
  readonly answers: () => Promise<Pick<AnswerBook, 'lastId' | 'after' | 'all'>>;
  readonly busiest: () => Promise<Busiest>;
  readonly clock: () => number;
  readonly failed: (error: unknown) => void;
  readonly streams?: EventStreams;
}

const ROUND_MS = 1000;
const COUNTS_AT_LEAST_EVERY_MS = 5000;
const BUSIEST_EVERY_MS = 5000;
/** Answers of one second that are told. */
const MOST_ANSWERS = 20;
const BEGINNING = 'retry: 2000\n\n';

/** One look at the node. */
interface Look extends PeersNow {
  readonly counts: Counts;
  readonly busiest: Busiest | null;
  readonly answers: Pick<AnswerBook, 'lastId' | 'after'>;
}

export class NodeFeed {
  readonly #options: NodeFeedOptions;
  readonly #streams: EventStreams;
  #changes = new PeerChanges();
  #last: Look | null = null;
  #countsText = '';
  #countsAt = 0;
  #busiestText = '';
  #busiestAt = 0;
  /** The last answer that readers were told. */
  #lastId = 0;
  #timer: NodeJS.Timeout | null = null;
  #isEnded = false;
  /** Readers whose first messages are being built. */
  #opening = 0;

  constructor(options: NodeFeedOptions) {
    this.#options = options;
    this.#streams = options.streams ?? new EventStreams();
  }

  get isFull(): boolean {
    return this.#streams.size + this.#opening >= this.#streams.mostStreams;
  }

  /** Takes a reader, whose head is written. Rejects if the node does not answer. */
  async add(response: StreamResponse): Promise<void> {
    this.#opening++;
    const look = await this.#look(true).finally(() => this.#opening--);
    const isStopping = this.#isEnded;
    if (this.#streams.size === 0) this.#lastId = look.answers.lastId;
    const busiest = eventText('busiest', look.busiest);
    const first = Buffer.from(BEGINNING + this.#helloText(look) + this.#stateText(look) + busiest);
    if (isStopping) {
      response.end(first);
      return;
    }
    this.#streams.add(response, first, this.#options.clock());
    this.#schedule();
  }

  /** A row of the hour is complete. */
  rowDone(row: HistoryRow): void {
    if (this.#streams.size === 0) return;
    const message = eventText('history', { v: 1, span: 'hour', row });
    this.#streams.send(Buffer.from(message), this.#options.clock());
  }

  /** Tells the readers that the node stops, and ends their streams. */
  end(): void {
    this.#isEnded = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#last !== null) this.#streams.end(Buffer.from(this.#helloText(this.#last)));
  }

  #schedule(): void {
    if (this.#timer !== null || this.#isEnded || this.#streams.size === 0) return;
    this.#timer = setTimeout(() => void this.#round(), ROUND_MS);
    this.#timer.unref();
  }

  async #round(): Promise<void> {
    const { clock, failed } = this.#options;
    try {
      const look = await this.#look(clock() - this.#busiestAt >= BUSIEST_EVERY_MS);
      const now = clock();
      this.#send(look, now);
      this.#streams.sweep(now, () => Buffer.from(eventText('reset', { v: 1 }) + this.#stateText(look)));
    } catch (error) {
      failed(error);
    }
    this.#timer = null;
    this.#schedule();
    // The next reader begins with a full state, and changes since now are news for it alone.
    if (this.#streams.size === 0) this.#changes = new PeerChanges();
  }

  #send(look: Look, now: number): void {
    const { at: _, ...still } = look.counts;
    const countsText = JSON.stringify(still);
    let text = '';
    if (countsText !== this.#countsText || now - this.#countsAt >= COUNTS_AT_LEAST_EVERY_MS) {
      this.#countsText = countsText;
      this.#countsAt = now;
      text += eventText('counts', look.counts);
    }
    const peers = this.#changes.next(look, now);
    if (peers !== null) text += eventText('peers', peers);
    const answers = look.answers.after(this.#lastId, MOST_ANSWERS);
    this.#lastId = look.answers.lastId;
    if (answers.answers.length > 0) text += eventText('answers', answers);
    const busiestText = look.busiest === null ? null : JSON.stringify(look.busiest);
    if (busiestText !== null) {
      this.#busiestAt = now;
      if (busiestText !== this.#busiestText) text += eventText('busiest', look.busiest);
      this.#busiestText = busiestText;
    }
    if (text !== '') this.#streams.send(Buffer.from(text), now);
  }

  async #look(withBusiest: boolean): Promise<Look> {
    const { report, clock } = this.#options;
    const [team, answers, busiest] = await Promise.all([
      report(),
      this.#options.answers(),
      withBusiest ? this.#options.busiest() : null,
    ]);
    const cooperation: CooperationReport | null = cooperationOf(team, totalOf(team));
    const look = { counts: countsOf(team, clock()), cooperation, squids: squidsOf(team), answers, busiest };
    this.#last = look;
    return look;
  }

  #helloText({ counts }: Look): string {
    const { hello, clock } = this.#options;
    const { startedAt } = counts;
    return eventText('hello', { v: 1, ...hello(), startedAt, at: clock() } satisfies Hello);
  }

  #stateText(look: Look): string {
    return eventText('counts', look.counts) + eventText('peers', PeerChanges.full(look));
  }
}
